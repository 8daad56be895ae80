package meter

import "io"

// Body counts a target's body while it is read, for the zone and host of c. It ignores c's
// sizes and requests: [Meter.Record] counts the fetch itself.
func (m *Meter) Body(body io.ReadCloser, c Call) io.ReadCloser {
	return m.counted(body, c, func(c *Call, n int) { c.Down = int64(n) })
}

// Upload counts a request's body as Body does a target's.
func (m *Meter) Upload(body io.ReadCloser, c Call) io.ReadCloser {
	return m.counted(body, c, func(c *Call, n int) { c.Up = int64(n) })
}

func (m *Meter) counted(body io.ReadCloser, c Call, set func(*Call, int)) io.ReadCloser {
	if m == nil || body == nil {
		return body
	}
	c.Up, c.Down, c.Requests, c.Billable = 0, 0, 0, false
	return &countedBody{ReadCloser: body, m: m, call: c, set: set}
}

type countedBody struct {
	io.ReadCloser
	m    *Meter
	call Call
	set  func(*Call, int)
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		c := b.call
		b.set(&c, n)
		b.m.Record(c)
	}
	return n, err
}

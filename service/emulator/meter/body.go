package meter

import "io"

// Body counts a target's body while it is read, for the zone and host of c. It ignores c's
// sizes and requests: [Meter.Record] counts the fetch itself.
func (m *Meter) Body(body io.ReadCloser, c Call) io.ReadCloser {
	if m == nil || body == nil {
		return body
	}
	c.Up, c.Requests, c.Billable = 0, 0, false
	return &countedBody{body, m, c}
}

type countedBody struct {
	io.ReadCloser
	m    *Meter
	call Call
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.call.Down = int64(n)
		b.m.Record(b.call)
	}
	return n, err
}

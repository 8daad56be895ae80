package native

import "zonedeck/service/emulator/meter"

// bill counts what one visit uses, while it uses it. The zero value counts nothing. It
// is one goroutine's; the two directions of a tunnel have a copy each.
type bill struct {
	m    *meter.Meter
	call meter.Call
}

func (p *Proxy) bill(v *Visit, secure bool) bill {
	return bill{p.conf.Meter, meter.Call{Zone: v.Zone.Name, Product: v.Zone.Product, Host: v.Host, Secure: secure}}
}

// request counts the request itself, with the bytes that came with it.
func (b *bill) request(billable bool, down int) {
	c := b.call
	c.Requests, c.Billable, c.Down = 1, billable, int64(down)
	b.m.Record(c)
}

func (b *bill) up(n int) {
	c := b.call
	c.Up = int64(n)
	b.m.Record(c)
}

func (b *bill) down(n int) {
	c := b.call
	c.Down = int64(n)
	b.m.Record(c)
}

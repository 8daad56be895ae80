package native

import "zonedeck/service/emulator/meter"

// bill counts what one visit uses while it lasts. The zero value counts nothing. It is safe
// for concurrent use by both directions of a tunnel.
type bill struct {
	m    *meter.Meter
	call meter.Call
}

func (p *Proxy) bill(v *Visit, secure bool) bill {
	return bill{p.conf.Meter, meter.Call{Zone: v.Zone.Name, Product: v.Zone.Product, Host: v.Host, Secure: secure}}
}

// request counts the request itself, and the first bytes of its answer.
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

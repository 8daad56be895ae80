package account

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"zonedeck/service/emulator/answer"
)

const (
	basisRefused  = "public documentation: status and code"
	basisDisabled = "assumption: status and code of a disabled zone"
)

// ChargeBy sets the function that says what a zone has cost between two moments, in dollars.
// Usage limits need it. Call it before the account serves.
func (a *Account) ChargeBy(spent func(zone string, from, to time.Time) float64) { a.spent = spent }

// Admit decides whether a caller may fetch from a host through a zone now, by the state of
// the account and the zone, the lists and the usage limit. Both access methods call it before
// every fetch. A zero caller is not checked. host is empty when it is not known yet; call
// [Account.HostRefused] later. Nil allows the fetch.
func (a *Account) Admit(zone string, caller netip.Addr, host string) *answer.Refusal {
	v := a.view.Load()
	r := v.zones[zone]
	if r != nil && caller.IsValid() {
		r.callers.add(caller.Unmap())
	}
	switch {
	case v.suspended:
		return refuse(http.StatusProxyAuthRequired, "client_10020", "Account is suspended")
	case r == nil || r.Status == Deleted:
		return refuse(http.StatusProxyAuthRequired, "client_10002", fmt.Sprintf("zone %q not found", zone))
	case r.Status == Disabled:
		ref := refuse(http.StatusProxyAuthRequired, "client_10002", fmt.Sprintf("zone %q is disabled", zone))
		ref.Basis = basisDisabled
		return ref
	}
	if caller.IsValid() {
		caller = caller.Unmap()
		if holds(r.deny, caller) {
			return refuse(http.StatusUnauthorized, "client_10050", "your IP "+caller.String()+" is on the zone's denylist")
		}
		if len(r.allow) > 0 && !holds(r.allow, caller) {
			return refuse(http.StatusProxyAuthRequired, "client_10030", "your IP "+caller.String()+" is not on the zone's allowlist")
		}
	}
	if host != "" {
		if ref := r.hostRefused(host); ref != nil {
			return ref
		}
	}
	if r.Limit != nil && a.spent != nil {
		from, to := r.Limit.window(a.now())
		if a.spent(zone, from, to) >= r.Limit.Value {
			return refuse(http.StatusBadGateway, answer.CodeUsageLimit, "Zone has reached usage limit")
		}
	}
	return nil
}

// HostRefused decides about a target alone, by the zone's lists of domains. It also serves
// the targets of redirects.
func (a *Account) HostRefused(zone, host string) *answer.Refusal {
	r := a.view.Load().zones[zone]
	if r == nil {
		return nil
	}
	return r.hostRefused(host)
}

func (r *record) hostRefused(host string) *answer.Refusal {
	switch {
	case underDomain(r.DenyDomains, host):
		return refuse(http.StatusForbidden, "client_10260", "host "+host+" is on the zone's denylist")
	case len(r.AllowDomains) > 0 && !underDomain(r.AllowDomains, host):
		return refuse(http.StatusForbidden, "client_10250", "host "+host+" is not on the zone's allowlist")
	default:
		return nil
	}
}

func refuse(status int, code, msg string) *answer.Refusal {
	return new(answer.NewRefusal(status, code, msg, basisRefused))
}

// window is the cycle that a moment lies in, UTC.
func (l Limit) window(now time.Time) (from, to time.Time) {
	now = now.UTC()
	if l.Cycle == "d" {
		from = time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
		return from, from.AddDate(0, 0, 1)
	}
	from = time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	return from, from.AddDate(0, 1, 0)
}

// maxCallers bounds the addresses remembered for a zone.
const maxCallers = 100

// callers are the addresses that last tried to use a zone, newest first.
type callers struct {
	last atomic.Pointer[netip.Addr]
	mu   sync.Mutex
	list []netip.Addr
}

func (c *callers) add(a netip.Addr) {
	if last := c.last.Load(); last != nil && *last == a {
		return // the common case, without a lock
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	newest := a // a itself would be allocated for the common case, too
	c.last.Store(&newest)
	c.list = slices.DeleteFunc(c.list, func(o netip.Addr) bool { return o == a })
	c.list = slices.Insert(c.list, 0, a)
	c.list = c.list[:min(len(c.list), maxCallers)]
}

// RecentCallers are the addresses that last tried to use a zone, newest first; they are
// not kept over a restart, nor over the zone's deletion.
func (a *Account) RecentCallers(zone string) []netip.Addr {
	r := a.view.Load().zones[zone]
	if r == nil {
		return nil
	}
	r.callers.mu.Lock()
	defer r.callers.mu.Unlock()
	return slices.Clone(r.callers.list)
}

package accountapi

import (
	"strings"

	"zonedeck/service/emulator/account"
)

func (a *API) passwords(c *call) (any, error) {
	z, err := a.zone(c)
	return map[string][]string{"passwords": z.Settings().Passwords}, err
}

func (a *API) editPasswords(edit func(string, []string) (account.Zone, error)) endpoint {
	return func(c *call) (any, error) {
		name, passwords := c.body.Word("zone"), c.body.Words("password")
		c.body.Require("password")
		if err := a.bodyZone(c, name); err != nil {
			return nil, err
		}
		z, err := edit(name, passwords)
		return map[string][]string{"passwords": z.Settings().Passwords}, err
	}
}

func shownIPs(list account.List, zs []account.Zone) map[string][]string {
	out := map[string][]string{}
	for _, z := range zs {
		d := z.Settings()
		if list == account.Allow {
			out[z.Name] = callersOf(d.AllowIPs)
		} else {
			out[z.Name] = append([]string{}, d.DenyIPs...)
		}
	}
	return out
}

func (a *API) listedIPs(list account.List) endpoint {
	return func(c *call) (any, error) {
		zs, err := a.zones(c)
		return shownIPs(list, zs), err
	}
}

// editIPs adds callers to a list or removes them. Without a zone it edits all zones, as the
// public service does.
func (a *API) editIPs(list account.List, remove bool) endpoint {
	return func(c *call) (any, error) {
		zones, ips := c.body.Words("zone"), c.body.Words("ip")
		c.body.Require("ip")
		if err := c.checked(); err != nil {
			return nil, err
		}
		zs, err := a.conf.Account.EditIPs(zones, list, ips, remove)
		return shownIPs(list, zs), err
	}
}

// editDomains changes a zone's list of targets. domain holds names separated by spaces.
func (a *API) editDomains(remove bool) endpoint {
	return func(c *call) (any, error) {
		name, list := c.body.Word("zone"), account.List(c.body.Word("type"))
		entries := strings.Fields(strings.Join(c.body.Words("domain"), " "))
		c.body.RefuseIf(list != account.Allow && list != account.Deny, "type", "must be whitelist or blacklist")
		c.body.RefuseIf(len(entries) == 0, "domain", "is required")
		if err := a.bodyZone(c, name); err != nil {
			return nil, err
		}
		z, err := a.conf.Account.EditDomains(name, list, entries, remove)
		domains := z.Settings().AllowDomains
		if list == account.Deny {
			domains = z.Settings().DenyDomains
		}
		return map[account.List]string{list: strings.Join(domains, " ")}, err
	}
}

// recentIPs lists the callers that tried to use the zones since the emulator's start.
func (a *API) recentIPs(c *call) (any, error) {
	zs, err := a.zones(c)
	out := map[string][]string{}
	for _, z := range zs {
		out[z.Name] = []string{}
		for _, ip := range a.conf.Account.RecentCallers(z.Name) {
			out[z.Name] = append(out[z.Name], ip.String())
		}
	}
	return out, err
}

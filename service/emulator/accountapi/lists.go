package accountapi

import (
	"net/http"
	"strings"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
)

func (a *API) servePasswords(w http.ResponseWriter, r *http.Request) {
	q, ok := a.query(w, r, "zone")
	if !ok {
		return
	}
	if z, ok := a.zone(w, q.Get("zone")); ok {
		answer.JSON(w, http.StatusOK, basisDocs, map[string][]string{"passwords": z.Passwords()})
	}
}

func (a *API) serveAddPassword(w http.ResponseWriter, r *http.Request) {
	a.editPasswords(w, r, a.conf.Account.AddPasswords)
}

func (a *API) serveRemovePassword(w http.ResponseWriter, r *http.Request) {
	a.editPasswords(w, r, a.conf.Account.RemovePasswords)
}

func (a *API) editPasswords(w http.ResponseWriter, r *http.Request, edit func(string, []string) (account.Zone, error)) {
	f, ok := a.body(w, r, "zone", "password")
	if !ok {
		return
	}
	bad := &answer.InvalidError{}
	name, passwords := f.text("zone", bad), f.texts("password", bad)
	if _, ok := f["password"]; !ok {
		bad.Add("password is required")
	}
	if invalid(w, bad) {
		return
	}
	if _, ok := a.zone(w, name); !ok {
		return
	}
	z, err := edit(name, passwords)
	if err != nil {
		a.refuse(w, err)
		return
	}
	answer.JSON(w, http.StatusOK, basisShape, map[string][]string{"passwords": z.Passwords()})
}

// shownIPs is a list of callers by zone.
func shownIPs(list account.List, zs []account.Zone) map[string][]string {
	out := map[string][]string{}
	for _, z := range zs {
		d := z.Details()
		if list == account.Allow {
			out[z.Name] = callersOf(d.AllowIPs)
		} else {
			out[z.Name] = append([]string{}, d.DenyIPs...)
		}
	}
	return out
}

func (a *API) showIPs(list account.List) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q, ok := a.query(w, r, "zone", "zones")
		if !ok {
			return
		}
		if zs, ok := a.zones(w, q); ok {
			answer.JSON(w, http.StatusOK, basisDocs, shownIPs(list, zs))
		}
	}
}

// editIPs adds callers to a list or takes them off it; no zone is all zones, as in the
// public service.
func (a *API) editIPs(list account.List, remove bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f, ok := a.body(w, r, "zone", "ip")
		if !ok {
			return
		}
		bad := &answer.InvalidError{}
		zones, ips := f.texts("zone", bad), f.texts("ip", bad)
		if _, ok := f["ip"]; !ok {
			bad.Add("ip is required")
		}
		if invalid(w, bad) {
			return
		}
		zs, err := a.conf.Account.EditIPs(zones, list, ips, remove)
		if err != nil {
			a.refuse(w, err)
			return
		}
		status := http.StatusCreated
		if remove {
			status = http.StatusOK
		}
		answer.JSON(w, status, basisShape, shownIPs(list, zs))
	}
}

// editDomains changes a zone's list of targets. domain holds names between spaces.
func (a *API) editDomains(remove bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f, ok := a.body(w, r, "zone", "type", "domain")
		if !ok {
			return
		}
		bad := &answer.InvalidError{}
		name, list := f.text("zone", bad), account.List(f.text("type", bad))
		entries := strings.Fields(strings.Join(f.texts("domain", bad), " "))
		if list != account.Allow && list != account.Deny {
			bad.Add("type must be whitelist or blacklist")
		}
		if len(entries) == 0 {
			bad.Add("domain is required")
		}
		if invalid(w, bad) {
			return
		}
		if _, ok := a.zone(w, name); !ok {
			return
		}
		z, err := a.conf.Account.EditDomains(name, list, entries, remove)
		if err != nil {
			a.refuse(w, err)
			return
		}
		d, status := z.Details(), http.StatusCreated
		own := d.AllowDomains
		if list == account.Deny {
			own = d.DenyDomains
		}
		if remove {
			status = http.StatusOK
		}
		answer.JSON(w, status, basisDocs+"; subdomains belong to a domain: assumption", map[account.List]string{list: strings.Join(own, " ")})
	}
}

// serveRecent lists who tried to use the zones since the emulator's start.
func (a *API) serveRecent(w http.ResponseWriter, r *http.Request) {
	q, ok := a.query(w, r, "zone", "zones")
	if !ok {
		return
	}
	zs, ok := a.zones(w, q)
	if !ok {
		return
	}
	out := map[string][]string{}
	for _, z := range zs {
		ips := []string{}
		for _, ip := range a.conf.Account.RecentCallers(z.Name) {
			ips = append(ips, ip.String())
		}
		out[z.Name] = ips
	}
	answer.JSON(w, http.StatusOK, basisDocs, out)
}

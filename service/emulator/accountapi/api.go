// Package accountapi is the account's own endpoints over HTTP: zones, their passwords and
// lists, balance, cost and bandwidth. None of them is in the contract (service.md 4 calls
// them "not shown"); they follow the public documentation of a service of this kind, and
// each answer's x-emulator-basis says where that is silent too.
//
// The emulator's API server mounts an [API] behind its check of keys and levels. It keeps
// no state of its own and is safe for concurrent use.
package accountapi

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/meter"
)

// maxBody bounds a request's body.
const maxBody = 256 << 10

// What this package's answers rest on.
const (
	basisDocs    = "public documentation"
	basisShape   = "public documentation; shape of the answer: assumption"
	basisText    = "public documentation: status; text: assumption"
	basisAssumed = "assumption: status and text"
	basisMoney   = "public documentation; service.md 1 rule 1; prices: assumption"
	basisAddress = "public documentation; which addresses and places there are: this emulator's"
)

// Config is what the endpoints stand on.
type Config struct {
	Account *account.Account
	Meter   *meter.Meter
	// Now is the emulator's clock.
	Now func() time.Time
	// Level is that of a request's key, which was checked before.
	Level func(*http.Request) level.Level
	// Loose lets fields and parameters pass that are not known, and bodies that do not
	// say they are JSON.
	Loose bool
	Log   *slog.Logger
}

// API serves the endpoints.
type API struct{ conf Config }

// New makes an API.
func New(conf Config) *API {
	if conf.Log == nil {
		conf.Log = slog.New(slog.DiscardHandler)
	}
	return &API{conf}
}

// Mount gives every endpoint to handle: a pattern of [http.ServeMux], what a key's level
// has to permit (service.md 5.3), and the handler.
func (a *API) Mount(handle func(pattern string, needs level.Action, h http.HandlerFunc)) {
	handle("GET /zone", level.See, a.serveZone)
	handle("POST /zone", level.Settings, a.serveCreate)
	handle("DELETE /zone", level.Settings, a.serveDelete)
	handle("GET /zone/get_active_zones", level.See, a.serveActive)
	handle("GET /zone/get_all_zones", level.See, a.serveAll)
	handle("GET /zone/status", level.See, a.serveZoneStatus)
	handle("GET /zone/permissions", level.See, a.servePermissions)
	handle("POST /zone/change_disable", level.Settings, a.serveDisable)

	handle("GET /zone/passwords", level.ZonePasswords, a.servePasswords)
	handle("POST /zone/add_password", level.ZonePasswords, a.serveAddPassword)
	handle("POST /zone/remove_password", level.ZonePasswords, a.serveRemovePassword)

	for _, list := range []account.List{account.Allow, account.Deny} {
		handle("GET /zone/"+string(list), level.IPLists, a.showIPs(list))
		handle("POST /zone/"+string(list), level.IPLists, a.editIPs(list, false))
		handle("DELETE /zone/"+string(list), level.IPLists, a.editIPs(list, true))
	}
	handle("GET /zone/recent_ips", level.IPLists, a.serveRecent)
	handle("POST /zone/domain_perm", level.Settings, a.editDomains(false))
	handle("DELETE /zone/domain_perm", level.Settings, a.editDomains(true))
	a.mountAddresses(handle)
	a.mountMoney(handle)
}

// query reads the parameters of a request; one that is not allowed is refused by its name.
func (a *API) query(w http.ResponseWriter, r *http.Request, allowed ...string) (url.Values, bool) {
	q := r.URL.Query()
	bad := &answer.InvalidError{}
	a.refuseParameters(w, q, bad, allowed...)
	return q, !invalid(w, bad)
}

func (a *API) refuseParameters(w http.ResponseWriter, q url.Values, bad *answer.InvalidError, allowed ...string) {
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if !slices.Contains(allowed, name) {
			a.unknown(w, "query parameter "+name, bad)
		}
	}
}

// fields is a JSON object, field by field.
type fields map[string]json.RawMessage

// body reads a JSON object; a field that is not allowed is refused by its name, and so is
// every parameter: a zone that is named there alone would be all zones here.
func (a *API) body(w http.ResponseWriter, r *http.Request, allowed ...string) (fields, bool) {
	bad := &answer.InvalidError{}
	a.refuseParameters(w, r.URL.Query(), bad)
	if !answer.IsJSON(r.Header) && !a.conf.Loose {
		bad.Add("Content-Type must be application/json")
	}
	b, err := answer.ReadBody(w, r, maxBody)
	if err != nil {
		bad.Add("body could not be read: at most %d bytes within %s", maxBody, answer.BodyTimeout)
	}
	var f fields
	if err == nil && (json.Unmarshal(b, &f) != nil || f == nil) {
		bad.Add("body must be a JSON object")
	}
	a.refuseOthers(w, "", f, bad, allowed...)
	return f, !invalid(w, bad)
}

func (a *API) refuseOthers(w http.ResponseWriter, prefix string, f fields, bad *answer.InvalidError, allowed ...string) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if !slices.Contains(allowed, name) {
			a.unknown(w, prefix+name, bad)
		}
	}
}

// unknown refuses what nobody knows or, when loose, lets it pass with a note.
func (a *API) unknown(w http.ResponseWriter, what string, bad *answer.InvalidError) {
	if !a.conf.Loose {
		bad.Add("%s is not allowed", what)
		return
	}
	answer.NoteUnknown(w, what)
}

// text is a field that holds a string; empty where it is not there.
func (f fields) text(name string, bad *answer.InvalidError) string {
	raw, ok := f[name]
	var v string
	if ok && (json.Unmarshal(raw, &v) != nil || v == "") {
		bad.Add("%s must be a string that is not empty", name)
	}
	return v
}

// texts is a field that holds a string or an array of strings.
func (f fields) texts(name string, bad *answer.InvalidError) []string {
	raw, ok := f[name]
	if !ok {
		return nil
	}
	var one string
	var many []string
	switch {
	case json.Unmarshal(raw, &one) == nil && one != "":
		return []string{one}
	case json.Unmarshal(raw, &many) == nil && len(many) > 0:
		return many
	}
	bad.Add("%s must be a string or an array of strings", name)
	return nil
}

// object is a field that holds an object.
func (f fields) object(name string, bad *answer.InvalidError) fields {
	raw, ok := f[name]
	if !ok {
		return nil
	}
	var v fields
	if json.Unmarshal(raw, &v) != nil || v == nil {
		bad.Add("%s must be an object", name)
	}
	return v
}

// zone finds the zone that a query names; where there is none it has answered already.
func (a *API) zone(w http.ResponseWriter, name string) (account.Zone, bool) {
	if name == "" {
		answer.Text(w, http.StatusBadRequest, basisDocs, "Missing zone parameter")
		return account.Zone{}, false
	}
	z, err := a.conf.Account.Zone(name)
	if err != nil {
		a.refuse(w, err)
		return account.Zone{}, false
	}
	return z, true
}

// zones reads the names of a query: comma-separated, "*" or none for all zones.
func (a *API) zones(w http.ResponseWriter, q url.Values) ([]account.Zone, bool) {
	names := strings.Join(slices.Concat(q["zones"], q["zone"]), ",")
	if names == "" || names == "*" {
		return a.conf.Account.Zones(), true
	}
	var out []account.Zone
	for name := range strings.SplitSeq(names, ",") {
		z, ok := a.zone(w, strings.TrimSpace(name))
		if !ok {
			return nil, false
		}
		out = append(out, z)
	}
	return out, true
}

// refuse answers what the account would not do.
func (a *API) refuse(w http.ResponseWriter, err error) {
	bad := (*answer.InvalidError)(nil)
	switch {
	case errors.As(err, &bad):
		answer.WriteInvalid(w, bad)
	case errors.Is(err, account.ErrNoSuchZone):
		answer.Text(w, http.StatusUnprocessableEntity, basisText, "Zone not found")
	case errors.Is(err, account.ErrZoneExists):
		answer.Text(w, http.StatusConflict, basisText, err.Error())
	case errors.Is(err, account.ErrOnePassword), errors.Is(err, account.ErrNoPassword), errors.Is(err, account.ErrTooMany):
		answer.Text(w, http.StatusBadRequest, basisAssumed, err.Error())
	default:
		a.conf.Log.Error("an account change was not kept", "error", err)
		answer.Text(w, http.StatusInternalServerError, basisText, "Internal server error")
	}
}

// invalid answers a body's faults, if there are any.
func invalid(w http.ResponseWriter, bad *answer.InvalidError) bool {
	if len(bad.Details) == 0 {
		return false
	}
	answer.WriteInvalid(w, bad)
	return true
}

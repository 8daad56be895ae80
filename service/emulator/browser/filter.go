package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
	"golang.org/x/net/publicsuffix"
)

type command struct {
	id      json.RawMessage // an integer
	method  string
	session string
	params  json.RawMessage // an object, or nil
}

// protocolError refuses a command, in the shape of Chromium's errors.
type protocolError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *protocolError) Error() string { return e.Message }

const (
	codeServer    = -32000 // any refusal of a command that exists
	codeNoSession = -32001
	codeInvalid   = -32600
	codeNoMethod  = -32601
	codeParams    = -32602
)

func refuse(code int, format string, args ...any) *protocolError {
	return &protocolError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// readCommand reads a client's message. Chromium gets the parsed command, encoded again,
// because two parsers may read the same bytes differently (such as a duplicate name), and the
// filter must see the command that Chromium sees.
func readCommand(raw []byte) (command, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return command{}, fmt.Errorf("the message is not a JSON object: %w", err)
	}
	var c command
	var id int64
	if err := json.Unmarshal(fields["id"], &id); err != nil || fields["id"] == nil {
		return command{}, errors.New("the message has no integer id")
	}
	c.id = json.RawMessage(fmt.Appendf(nil, "%d", id))
	if err := json.Unmarshal(fields["method"], &c.method); err != nil {
		return c, errors.New("the message has no method")
	}
	if s, ok := fields["sessionId"]; ok {
		if err := json.Unmarshal(s, &c.session); err != nil {
			return c, errors.New("sessionId is not a string")
		}
	}
	if p, ok := fields["params"]; ok && string(p) != "null" {
		if len(p) == 0 || p[0] != '{' {
			return c, errors.New("params is not an object")
		}
		c.params = p
	}
	return c, nil
}

// read reads a command's parameters into v, and ignores unknown options.
func (c command) read(v any) *protocolError {
	if c.params == nil {
		return nil
	}
	if err := json.Unmarshal(c.params, v); err != nil {
		return refuse(codeParams, "%s: %v", c.method, err)
	}
	return nil
}

func (c command) encode() []byte {
	out := append([]byte(`{"id":`), c.id...)
	out = append(append(out, `,"method":`...), quoted(c.method)...)
	if c.session != "" {
		out = append(append(out, `,"sessionId":`...), quoted(c.session)...)
	}
	if c.params != nil {
		out = append(append(out, `,"params":`...), c.params...)
	}
	return append(out, '}')
}

// reply encodes the answer to a command: a result, or an error.
func (c command) reply(result any, failure *protocolError) []byte {
	m := struct {
		ID      json.RawMessage `json:"id"`
		Session string          `json:"sessionId,omitempty"`
		Result  any             `json:"result,omitempty"`
		Error   *protocolError  `json:"error,omitempty"`
	}{c.id, c.session, result, failure}
	if result == nil && failure == nil {
		m.Result = struct{}{}
	}
	raw, err := json.Marshal(m)
	if err != nil { // results here always have a JSON form
		panic(err)
	}
	return raw
}

// rule refuses a command, or returns it as Chromium may get it.
type rule func(command) (command, *protocolError)

// domains lists the domains that a client may use. The others reach beyond pages, to the machine
// (SystemInfo, Tracing, DeviceAccess, BluetoothEmulation, SmartCardEmulation), its network
// (Tethering, Cast), its programs (Extensions, PWA) or its files (FileSystem), or come from a
// newer Chromium.
var domains = set(`Accessibility Animation Audits BackgroundService CSS CacheStorage Console
	DOM DOMDebugger DOMSnapshot DOMStorage Debugger DeviceOrientation Emulation
	EventBreakpoints Fetch HeapProfiler IO IndexedDB Input Inspector LayerTree
	Log Media Memory Network Overlay Page Performance PerformanceTimeline
	Profiler Runtime Schema Security ServiceWorker Storage WebAudio WebAuthn`)

// withheld lists the commands of those domains that access the machine's files and certificates.
var withheld = set(`DOM.setFileInputFiles DOM.getFileInfo Page.handleFileChooser
	Page.setDownloadBehavior Network.setCertificate Network.loadNetworkResourceToFile`)

// commands lists the commands of the domains Target and Browser that a client may use.
var commands = set(`Target.activateTarget Target.attachToTarget Target.attachToBrowserTarget Target.autoAttachRelated
	Target.closeTarget Target.createBrowserContext Target.createTarget Target.detachFromTarget
	Target.disposeBrowserContext Target.getBrowserContexts Target.getTargetInfo Target.getTargets
	Target.setAutoAttach Target.setDiscoverTargets
	Browser.getVersion Browser.getWindowForTarget Browser.getWindowBounds Browser.setWindowBounds
	Browser.setContentsSize Browser.grantPermissions Browser.resetPermissions Browser.setPermission
	Browser.setDownloadBehavior Browser.cancelDownload`)

// rules restricts the parameters of commands.
var rules = map[string]rule{
	"Page.navigate":                      addressed(pageAddress),
	"Target.createTarget":                addressed(pageAddress),
	"Network.loadNetworkResource":        addressed(webAddress),
	"Fetch.continueRequest":              addressed(noOrWebAddress),
	"Network.continueInterceptedRequest": addressed(noOrWebAddress),
	"Target.createBrowserContext":        only("disposeOnDetach"), // nothing about proxies or access across origins
	"Browser.setDownloadBehavior":        noDownloads,
	"Input.dispatchDragEvent":            withoutFiles,
}

func set(words string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		all[word] = true
	}
	return all
}

// screen applies the tables to a command.
func screen(c command) (command, *protocolError) {
	domain, _, _ := strings.Cut(c.method, ".")
	if !commands[c.method] && (!domains[domain] || withheld[c.method]) {
		return c, refuse(codeNoMethod, "'%s' is not available: this browser is remote, and pages are all it gives access to", c.method)
	}
	if decide, ok := rules[c.method]; ok {
		return decide(c)
	}
	return c, nil
}

func (c command) object() map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	if c.params != nil {
		// readCommand has checked that it is an object.
		_ = json.Unmarshal(c.params, &fields)
	}
	return fields
}

func (c command) withParams(fields map[string]json.RawMessage) command {
	raw, err := json.Marshal(fields)
	if err != nil { // the parts were read as JSON before
		panic(err)
	}
	c.params = raw
	return c
}

// addressed permits a command whose url is allowed, with the url as parsed.
func addressed(allowed func(string) bool) rule {
	return func(c command) (command, *protocolError) {
		fields := c.object()
		var address string
		if raw, ok := fields["url"]; ok {
			if err := json.Unmarshal(raw, &address); err != nil {
				return c, refuse(codeParams, "url is not a string")
			}
		}
		if c.method == "Target.createTarget" && address == "" {
			address = "about:blank"
		}
		if !allowed(address) {
			return c, refuse(codeServer, "%s: pages here are http, https, data, blob and about:blank, not %.200q", c.method, address)
		}
		if address != "" {
			fields["url"] = quoted(address)
		}
		return c.withParams(fields), nil
	}
}

// only drops all other parameters, and refuses the command if one of them matters.
func only(names ...string) rule {
	return func(c command) (command, *protocolError) {
		fields := c.object()
		for name, value := range fields {
			switch {
			case slices.Contains(names, name):
				continue
			case name == "downloadPath", string(value) == "null", string(value) == `""`, string(value) == "[]":
			default:
				return c, refuse(codeServer, "%s: %.40q is not available on this browser", c.method, name)
			}
			delete(fields, name)
		}
		return c.withParams(fields), nil
	}
}

// noDownloads always denies downloads, because clients set the behaviour routinely.
func noDownloads(c command) (command, *protocolError) {
	fields := c.object()
	fields["behavior"] = quoted("deny")
	return only("behavior", "browserContextId", "eventsEnabled")(c.withParams(fields))
}

func withoutFiles(c command) (command, *protocolError) {
	fields := c.object()
	var data map[string]json.RawMessage
	if raw, ok := fields["data"]; ok {
		if err := json.Unmarshal(raw, &data); err != nil {
			return c, refuse(codeParams, "data is not an object")
		}
	}
	if files, ok := data["files"]; ok && string(files) != "[]" && string(files) != "null" {
		return c, refuse(codeServer, "%s: files of the machine are not available", c.method)
	}
	if data != nil {
		delete(data, "files")
		fields["data"] = command{}.withParams(data).params
	}
	return c.withParams(fields), nil
}

// webAddress and pageAddress check the prefix of an address without the characters that a
// browser ignores, so that no spelling of another scheme passes.
func webAddress(address string) bool {
	s := strings.ToLower(plainAddress(address))
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

func noOrWebAddress(address string) bool { return address == "" || webAddress(address) }

func pageAddress(address string) bool {
	s := strings.ToLower(plainAddress(address))
	rest, blank := strings.CutPrefix(s, "about:blank")
	return webAddress(s) || strings.HasPrefix(s, "data:") || strings.HasPrefix(s, "blob:http://") || strings.HasPrefix(s, "blob:https://") ||
		blank && (rest == "" || rest[0] == '#' || rest[0] == '?')
}

// plainAddress removes the control characters and blanks that the URL Standard ignores.
func plainAddress(address string) string {
	address = strings.TrimFunc(address, func(r rune) bool { return r <= ' ' })
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, address)
}

// privileged reports whether an address is an internal page of the browser, whose scripts have
// more access than those of web pages.
func privileged(address string) bool {
	scheme, _, ok := strings.Cut(plainAddress(address), ":")
	if !ok {
		return false
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "about", "data", "blob", "chrome-error":
		return false
	}
	return true
}

// siteOf returns the domain that a session's limit counts: the registrable domain, or the host if
// it has none (addresses, lab.test). It is "" for pages without a host.
func siteOf(address string) string {
	u, err := url.Parse(plainAddress(address))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if net.ParseIP(host) != nil {
		return host
	}
	if site, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return site
	}
	return host
}

// veil hides targets from a client: Chromium's internal pages, whose scripts have more access
// than those of web pages, and the tabs that prime a browser context.
type veil struct {
	s *session

	mu       sync.Mutex
	contexts map[string]bool   // browser contexts that are not ready for the client
	hidden   map[string]bool   // targets
	shut     map[string]bool   // sessions with hidden targets
	targets  map[string]string // the client's sessions and their targets
	next     int64             // of the emulator's commands on the client's plane
	pending  map[int64]bool
}

// firstID is the first id of the emulator's commands on the client's plane. Clients count from 1.
const firstID = 1 << 30

func newVeil(s *session) *veil {
	return &veil{
		s: s, next: firstID, contexts: map[string]bool{}, hidden: map[string]bool{}, shut: map[string]bool{},
		targets: map[string]string{}, pending: map[int64]bool{},
	}
}

// cover hides a browser context and its targets, or shows them again.
func (v *veil) cover(browserContext string, hidden bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.contexts[browserContext] = hidden
}

// locked reports whether a session of the client is attached to a hidden target.
func (v *veil) locked(session string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.shut[session]
}

func (v *veil) target(session string) (string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	id, ok := v.targets[session]
	return id, ok
}

// session returns a client's session with a target, or "".
func (v *veil) session(target string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	for session, id := range v.targets {
		if id == target {
			return session
		}
	}
	return ""
}

// hides reports whether to keep a message from the client, and tracks its targets.
func (v *veil) hides(raw []byte) bool {
	e := readEnvelope(raw)
	v.mu.Lock()
	defer v.mu.Unlock()
	if e.method == "" {
		asked := v.pending[e.id]
		delete(v.pending, e.id)
		return asked
	}
	if v.shut[e.session] {
		return true
	}
	switch e.method {
	case "Target.targetCreated", "Target.targetInfoChanged":
		return v.hiddenTarget(gjson.GetBytes(raw, "params.targetInfo"))
	case "Target.attachedToTarget":
		if v.hiddenTarget(gjson.GetBytes(raw, "params.targetInfo")) {
			v.shut[e.attached] = true
			v.detach(e)
			return true
		}
		v.targets[e.attached] = gjson.GetBytes(raw, "params.targetInfo.targetId").String()
	case "Target.detachedFromTarget":
		hidden := v.shut[e.attached]
		delete(v.shut, e.attached)
		delete(v.targets, e.attached)
		return hidden
	case "Target.targetDestroyed", "Target.targetCrashed":
		id := gjson.GetBytes(raw, "params.targetId").String()
		hidden := v.hidden[id]
		if e.method == "Target.targetDestroyed" {
			delete(v.hidden, id)
		}
		return hidden
	}
	return false
}

// hidesInfo reports whether to keep a target of a list from the client.
func (v *veil) hidesInfo(info json.RawMessage) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.hiddenTarget(gjson.ParseBytes(info))
}

// hiddenTarget reports whether to hide a target by its description. The caller holds v.mu.
func (v *veil) hiddenTarget(info gjson.Result) bool {
	id := info.Get("targetId").String()
	if v.contexts[info.Get("browserContextId").String()] || privileged(info.Get("url").String()) || info.Get("type").String() == "browser_ui" {
		v.hidden[id] = true
	}
	return v.hidden[id]
}

// detach ends a client's session with a hidden target, which also resumes a target that waits
// for its debugger. The caller holds v.mu.
func (v *veil) detach(e envelope) {
	v.next++
	v.pending[v.next] = true
	c := command{
		id: fmt.Appendf(nil, "%d", v.next), method: "Target.detachFromTarget", session: e.session,
		params: fmt.Appendf(nil, `{"sessionId":%s}`, quoted(e.attached)),
	}
	v.s.spawn(func() {
		// Fails only if Chromium, and so the session, has ended.
		_ = v.s.chrom.mux.send(c.encode())
	})
}

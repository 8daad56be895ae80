package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// command is one message of a client.
type command struct {
	id      json.RawMessage // an integer
	method  string
	session string
	params  json.RawMessage // an object, or nil
}

// protocolError is how a command is refused: Chromium's own shape of an error.
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

// readCommand reads a client's message. Only what was read is passed on, encoded
// again: two readers of the same bytes may disagree (a name that stands twice), and
// then the filter would see another command than Chromium.
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

// encode is the command as it goes to Chromium.
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

// reply is the answer to a command: a result, or an error.
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

// rule decides on a command: it comes back as it may be sent to Chromium.
type rule func(command) (command, *protocolError)

// domains are those that a client may use. What is not here reaches beyond pages: the
// machine (SystemInfo, Tracing, DeviceAccess, BluetoothEmulation, SmartCardEmulation),
// its network (Tethering, Cast), programs on it (Extensions, PWA), its files
// (FileSystem), or is not known to this list, as a newer Chromium's may be.
var domains = set(`Accessibility Animation Audits BackgroundService CSS CacheStorage Console
	DOM DOMDebugger DOMSnapshot DOMStorage Debugger DeviceOrientation Emulation
	EventBreakpoints Fetch HeapProfiler IO IndexedDB Input Inspector LayerTree
	Log Media Memory Network Overlay Page Performance PerformanceTimeline
	Profiler Runtime Schema Security ServiceWorker Storage WebAudio WebAuthn`)

// withheld are the commands of those domains that reach the machine's files and its
// certificates.
var withheld = set(`DOM.setFileInputFiles DOM.getFileInfo Page.handleFileChooser
	Page.setDownloadBehavior Network.setCertificate Network.loadNetworkResourceToFile`)

// commands are those that a client may use in the domains Target and Browser.
var commands = set(`Target.activateTarget Target.attachToTarget Target.attachToBrowserTarget Target.autoAttachRelated
	Target.closeTarget Target.createBrowserContext Target.createTarget Target.detachFromTarget
	Target.disposeBrowserContext Target.getBrowserContexts Target.getTargetInfo Target.getTargets
	Target.setAutoAttach Target.setDiscoverTargets
	Browser.getVersion Browser.getWindowForTarget Browser.getWindowBounds Browser.setWindowBounds
	Browser.setContentsSize Browser.grantPermissions Browser.resetPermissions Browser.setPermission
	Browser.setDownloadBehavior Browser.cancelDownload`)

// rules are for the commands that pass with some parameters only.
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

// screen decides on a command by the tables.
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

// object is the command's parameters by name.
func (c command) object() map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	if c.params != nil {
		// It was read as an object before.
		_ = json.Unmarshal(c.params, &fields)
	}
	return fields
}

func (c command) with(fields map[string]json.RawMessage) command {
	raw, err := json.Marshal(fields)
	if err != nil { // the parts were read as JSON before
		panic(err)
	}
	c.params = raw
	return c
}

// addressed lets a command pass whose url is allowed, with the url as it was read.
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
		return c.with(fields), nil
	}
}

// only drops every parameter but those named, unless a dropped one matters.
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
		return c.with(fields), nil
	}
}

// noDownloads: clients set the behaviour without being asked; here it is always the same.
func noDownloads(c command) (command, *protocolError) {
	fields := c.object()
	fields["behavior"] = quoted("deny")
	return only("behavior", "browserContextId", "eventsEnabled")(c.with(fields))
}

// withoutFiles refuses to drop files on a page.
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
		fields["data"] = command{}.with(data).params
	}
	return c.with(fields), nil
}

// webAddress and pageAddress decide by prefix, after taking out what a browser ignores
// in an address, so that no way of writing another scheme passes.
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

// plainAddress drops the controls and blanks that the URL Standard drops.
func plainAddress(address string) string {
	address = strings.TrimFunc(address, func(r rune) bool { return r <= ' ' })
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, address)
}

// privileged tells whether a target's address is one of the browser's own pages, from
// which scripts reach more than a page of the web does.
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

// siteOf is the domain that a session's limit counts: the registrable one, or the host
// itself where there is none (addresses, lab.test's kind). Empty for pages without a host.
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

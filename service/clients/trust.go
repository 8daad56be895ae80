package clients

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/export"
)

// clients lists them.
func clients() []model.TrustClient {
	return []model.TrustClient{model.ClientCurl, model.ClientRequests, model.ClientNode, model.ClientChromium, model.ClientGo}
}

// TrustOf is Trust for the chain that a test was presented by its target, and nil where there is nothing to check.
func (m Machine) TrustOf(r model.ProbeResult, file string) *model.TrustReport {
	u, err := url.Parse(r.Target)
	if err != nil {
		return nil
	}
	report, err := m.Trust(r.Chain.Certificates, u.Hostname(), file)
	if err != nil {
		return nil
	}
	return &report
}

// Trust checks a chain, as a handshake with host presented it, against the system's store, the
// profile's file (empty without one) and every client's own places. The error says why there
// is nothing to check.
func (m Machine) Trust(list []model.Certificate, host, file string) (model.TrustReport, error) {
	c, err := parseChain(list, m.Now())
	if err != nil {
		return model.TrustReport{}, err
	}
	last := list[len(list)-1]
	r := model.TrustReport{Root: last.Issuer}
	if last.SelfSigned {
		r.Root, r.RootSHA256 = last.Subject, last.SHA256
	}
	if err := c.presented[0].VerifyHostname(host); err != nil {
		r.HostMismatch = model.Line(strings.TrimPrefix(err.Error(), "x509: "), settingText)
	}
	r.System = m.system(c)
	if file != "" {
		file := c.check("profile's CA file", file, reads{file: true})
		r.File = &file
	}
	for _, client := range clients() {
		t := m.client(client, c, r.System)
		t.Install = m.install(client, cmp.Or(file, model.CAPlace))
		r.Clients = append(r.Clients, t)
	}
	return r, nil
}

// client is what one client would make of a chain.
func (m Machine) client(client model.TrustClient, c chain, system model.TrustStore) model.ClientTrust {
	t := model.ClientTrust{Client: client, Settings: []model.EnvSetting{}}
	switch client {
	case model.ClientCurl:
		m.curl(&t, c, system)
	case model.ClientRequests:
		m.requests(&t, c)
	case model.ClientNode:
		m.node(&t, c)
	case model.ClientChromium:
		t.Stores = []model.TrustStore{{Name: "Chromium's own list", Verdict: model.TrustUnknown, Reason: "it is part of the program"}}
		if m.os() == "linux" {
			t.Stores = append(t.Stores, model.TrustStore{Name: "NSS database", Path: "~/.pki/nssdb", Verdict: model.TrustUnknown, Reason: "the console cannot read it; certutil -d sql:$HOME/.pki/nssdb -L lists it, of the package libnss3-tools"})
		}
		t.Note = "it heeds no variable of the environment"
	case model.ClientGo:
		m.goProgram(&t, c, system)
	}
	t.Verdict = together(t.Stores)
	return t
}

// together is the verdict of several stores, each of which suffices.
func together(stores []model.TrustStore) model.TrustVerdict {
	has := func(v model.TrustVerdict) bool {
		return slices.ContainsFunc(stores, func(s model.TrustStore) bool { return s.Verdict == v })
	}
	switch {
	case has(model.TrustYes):
		return model.TrustYes
	case has(model.TrustUnknown):
		return model.TrustUnknown
	default:
		return model.TrustNo
	}
}

// curl heeds CURL_CA_BUNDLE or else SSL_CERT_DIR and SSL_CERT_FILE. A file replaces the bundle that it
// was built with, and one that holds no certificate ends every call; a folder is looked at beside the
// bundle. The folder that it was built with, which only some builds have, counts where none is set.
func (m Machine) curl(t *model.ClientTrust, c chain, system model.TrustStore) {
	t.Settings = settings(m.Getenv, []string{"CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"})
	t.Note = "as curl with OpenSSL is built by the distributions; curl -v says what a build uses"
	name, file, dirs := "CURL_CA_BUNDLE", m.Getenv("CURL_CA_BUNDLE"), ""
	if file == "" {
		name, file, dirs = "SSL_CERT_FILE", m.Getenv("SSL_CERT_FILE"), m.Getenv("SSL_CERT_DIR")
	}
	system.Name = "the bundle it was built with, usually the system store"
	bundle := system
	if file != "" {
		bundle = c.check(name, file, reads{file: true})
		if dirs != "" && (bundle.Verdict != system.Verdict || bundle.Empty) {
			bundle.Verdict, bundle.Reason = model.TrustUnknown, "beside SSL_CERT_DIR some versions ignore SSL_CERT_FILE, and keep the bundle they were built with"
		}
	}
	t.Stores = []model.TrustStore{bundle}
	if bundle.Empty {
		return
	}
	for _, dir := range filepath.SplitList(dirs) {
		t.Stores = append(t.Stores, c.check("SSL_CERT_DIR", dir, reads{folder: true}))
	}
	if file == "" || dirs != "" {
		return
	}
	for _, dir := range m.folders() {
		if s := c.check("the folder it was built with, if it has one", dir, reads{folder: true}); s.Verdict == model.TrustYes {
			s.Verdict, s.Reason = model.TrustUnknown, "it vouches for the chain; Debian's curl looks there, others do not"
			t.Stores = append(t.Stores, s)
			return
		}
	}
}

func (m Machine) requests(t *model.ClientTrust, c chain) {
	t.Settings = settings(m.Getenv, []string{"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"})
	for _, name := range []string{"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} {
		if path := m.Getenv(name); path != "" {
			t.Stores = []model.TrustStore{c.check(name, path, reads{file: true, folder: true, toRoot: true})}
			t.Note = "it is used alone, instead of the list of certifi"
			return
		}
	}
	t.Stores = []model.TrustStore{{Name: "certifi's list", Verdict: model.TrustUnknown, Reason: "each Python environment has its own; python -m certifi says where"}}
	t.Note = "the list holds public authorities; SSL_CERT_FILE is not heeded"
}

// node heeds NODE_EXTRA_CA_CERTS beside its own list; whether it knows the system's store, and
// where its OpenSSL looks, depends on its version and build.
func (m Machine) node(t *model.ClientTrust, c chain) {
	t.Settings = settings(m.Getenv, []string{"NODE_EXTRA_CA_CERTS", "NODE_OPTIONS", "NODE_USE_SYSTEM_CA", "NODE_TLS_REJECT_UNAUTHORIZED", "SSL_CERT_FILE", "SSL_CERT_DIR"})
	if extra := m.Getenv("NODE_EXTRA_CA_CERTS"); extra != "" {
		t.Stores = append(t.Stores, c.check("NODE_EXTRA_CA_CERTS", extra, reads{file: true, toRoot: true}))
	}
	options := strings.Fields(m.Getenv("NODE_OPTIONS"))
	if m.Getenv("NODE_USE_SYSTEM_CA") == "1" || slices.Contains(options, "--use-system-ca") {
		t.Stores = append(t.Stores, model.TrustStore{Name: "the system store, by --use-system-ca", Verdict: model.TrustUnknown, Reason: "which store that is, and whether there is one, depends on Node's version"})
	}
	if slices.Contains(options, "--use-openssl-ca") {
		t.Stores = append(t.Stores, model.TrustStore{Name: "OpenSSL's store, by --use-openssl-ca", Verdict: model.TrustUnknown, Reason: "where it is depends on how Node was built; SSL_CERT_FILE and SSL_CERT_DIR replace it"})
	} else {
		t.Stores = append(t.Stores, model.TrustStore{Name: "Node's own list", Verdict: model.TrustUnknown, Reason: "it is part of the program and holds public authorities"})
	}
	if m.Getenv("NODE_TLS_REJECT_UNAUTHORIZED") == "0" {
		t.Note = "NODE_TLS_REJECT_UNAUTHORIZED=0: it checks no certificate at all"
	}
}

// goProgram is a program in Go, as crypto/x509 finds the roots of a Unix: SSL_CERT_FILE replaces the
// bundle and SSL_CERT_DIR the folders, each by itself.
func (m Machine) goProgram(t *model.ClientTrust, c chain, system model.TrustStore) {
	file, dir := m.Getenv("SSL_CERT_FILE"), m.Getenv("SSL_CERT_DIR")
	if !m.unix() || file == "" && dir == "" {
		t.Stores = []model.TrustStore{system}
		return
	}
	t.Settings = settings(m.Getenv, []string{"SSL_CERT_FILE", "SSL_CERT_DIR"})
	folders := m.folders()
	if dir != "" {
		folders = strings.Split(dir, ":")
	}
	pool, path, n := m.systemPool(file, folders)
	s := model.TrustStore{Name: "SSL_CERT_FILE and the system's folders", Path: path}
	switch {
	case file == "":
		s.Name = "the system's bundle and SSL_CERT_DIR"
	case dir != "":
		s.Name = "SSL_CERT_FILE and SSL_CERT_DIR"
	}
	if s.Verdict, s.Reason, _ = c.by(pool); n == 0 {
		s.Reason = "they hold no certificate"
	}
	t.Stores = []model.TrustStore{s}
	t.Note = "a program may bring its own roots"
}

// install are the lines that make a client trust a file: of a POSIX shell, on Windows of PowerShell.
func (m Machine) install(client model.TrustClient, file string) []string {
	ca := m.quote(file)
	set := func(name string) string {
		if m.os() == "windows" {
			return "$env:" + name + " = " + ca
		}
		return "export " + name + "=" + ca
	}
	switch client {
	case model.ClientCurl:
		return []string{set("CURL_CA_BUNDLE"), "# or for one call: curl --cacert " + ca}
	case model.ClientRequests:
		return []string{set("REQUESTS_CA_BUNDLE"), "# or for one call: requests.get(url, verify=" + export.PythonQuote(file) + ")"}
	case model.ClientNode:
		return []string{set("NODE_EXTRA_CA_CERTS")}
	case model.ClientChromium:
		if m.os() != "linux" {
			return m.InstallSystem(file)
		}
		return []string{
			"# certutil is in libnss3-tools (Debian) or nss-tools (Fedora)",
			`d="$HOME/.pki/nssdb"; [ -d "$d" ] || d="${XDG_DATA_HOME:-$HOME/.local/share}/pki/nssdb"; mkdir -p "$d"`,
			`certutil -d sql:"$d" -A -t "C,," -n zonedeck-ca -i ` + ca,
		}
	default:
		if !m.unix() {
			return m.InstallSystem(file)
		}
		return []string{set("SSL_CERT_FILE")}
	}
}

// quote makes one word of the machine's shell.
func (m Machine) quote(s string) string {
	if m.os() == "windows" {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return export.ShellQuote(s)
}

// InstallSystem are the lines of a shell that put a file into the system's store.
func (m Machine) InstallSystem(file string) []string {
	ca := m.quote(file)
	switch m.os() {
	case "darwin":
		return []string{"sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain " + ca}
	case "windows":
		return []string{"certutil -addstore -f ROOT " + ca}
	default:
		return []string{
			"sudo cp " + ca + " /usr/local/share/ca-certificates/zonedeck-ca.crt && sudo update-ca-certificates",
			"# Fedora: sudo cp " + ca + " /etc/pki/ca-trust/source/anchors/ && sudo update-ca-trust",
		}
	}
}

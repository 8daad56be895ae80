package clients

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/export"
)

// Client is a kind of HTTP client.
type Client string

// The clients whose trust is known how to find out.
const (
	Curl     Client = "curl"
	Requests Client = "Python requests"
	Node     Client = "Node"
	Chromium Client = "Chromium"
	Go       Client = "Go"
)

// clients lists them.
func clients() []Client { return []Client{Curl, Requests, Node, Chromium, Go} }

// Report says who on this machine trusts a chain.
type Report struct {
	// Root says which authority has to be trusted: the end of the chain as it was presented.
	Root string
	// RootSHA256 is its fingerprint, empty where only its name is known.
	RootSHA256 string
	// Host says why the certificate does not hold for the page's host, or is empty. No
	// authority mends that.
	Host string
	// System is the system's store, File the profile's file; its Name is empty without one.
	System, File Store
	Clients      []Trust
}

// Trust is what one client would make of a chain.
type Trust struct {
	Client  Client
	Verdict Verdict
	// Stores are where it looks, each with its own verdict.
	Stores []Store
	// Settings are the variables of the environment that it heeds and that are set.
	Settings []Setting
	// Note says what cannot be read, or else must be known; it may be empty.
	Note string
	// Install are the lines of a shell that make it trust a CA file.
	Install []string
}

// CAPlace stands in Install for the file of a CA that the profile does not name.
const CAPlace = "CA.pem"

// Trust checks a chain, as a handshake with host presented it, against the system's store, the
// profile's file (empty without one) and every client's own places. The error says why there
// is nothing to check.
func (m Machine) Trust(list []model.Certificate, host, file string) (Report, error) {
	c, err := parseChain(list, m.Now())
	if err != nil {
		return Report{}, err
	}
	last := list[len(list)-1]
	r := Report{Root: last.Issuer}
	if last.SelfSigned {
		r.Root, r.RootSHA256 = last.Subject, last.SHA256
	}
	if err := c.presented[0].VerifyHostname(host); err != nil {
		r.Host = model.Line(strings.TrimPrefix(err.Error(), "x509: "), settingText)
	}
	r.System = m.system(c)
	if file != "" {
		r.File = c.check("profile's CA file", file, reads{file: true})
	}
	for _, client := range clients() {
		t := m.client(client, c, r.System)
		t.Install = m.install(client, cmp.Or(file, CAPlace))
		r.Clients = append(r.Clients, t)
	}
	return r, nil
}

// client is what one client would make of a chain.
func (m Machine) client(client Client, c chain, system Store) Trust {
	t := Trust{Client: client}
	switch client {
	case Curl:
		m.curl(&t, c, system)
	case Requests:
		m.requests(&t, c)
	case Node:
		m.node(&t, c)
	case Chromium:
		t.Stores = []Store{{Name: "Chromium's own list", Verdict: Unknown, Reason: "it is part of the program"}}
		if m.os() == "linux" {
			t.Stores = append(t.Stores, Store{Name: "NSS database", Path: "~/.pki/nssdb", Verdict: Unknown, Reason: "the console cannot read it; certutil -d sql:$HOME/.pki/nssdb -L lists it, of the package libnss3-tools"})
		}
		t.Note = "it heeds no variable of the environment"
	case Go:
		m.goProgram(&t, c, system)
	}
	t.Verdict = together(t.Stores)
	return t
}

// together is the verdict of several stores, each of which suffices.
func together(stores []Store) Verdict {
	has := func(v Verdict) bool {
		return slices.ContainsFunc(stores, func(s Store) bool { return s.Verdict == v })
	}
	switch {
	case has(Trusted):
		return Trusted
	case has(Unknown):
		return Unknown
	default:
		return Untrusted
	}
}

// curl heeds CURL_CA_BUNDLE or else SSL_CERT_DIR and SSL_CERT_FILE. A file replaces the bundle that it
// was built with, and one that holds no certificate ends every call; a folder is looked at beside the
// bundle. The folder that it was built with, which only some builds have, counts where none is set.
func (m Machine) curl(t *Trust, c chain, system Store) {
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
		if dirs != "" && (bundle.Verdict != system.Verdict || bundle.empty) {
			bundle.Verdict, bundle.Reason = Unknown, "beside SSL_CERT_DIR some versions ignore SSL_CERT_FILE, and keep the bundle they were built with"
		}
	}
	t.Stores = []Store{bundle}
	if bundle.empty {
		return
	}
	for _, dir := range filepath.SplitList(dirs) {
		t.Stores = append(t.Stores, c.check("SSL_CERT_DIR", dir, reads{folder: true}))
	}
	if file == "" || dirs != "" {
		return
	}
	for _, dir := range m.folders() {
		if s := c.check("the folder it was built with, if it has one", dir, reads{folder: true}); s.Verdict == Trusted {
			s.Verdict, s.Reason = Unknown, "it vouches for the chain; Debian's curl looks there, others do not"
			t.Stores = append(t.Stores, s)
			return
		}
	}
}

func (m Machine) requests(t *Trust, c chain) {
	t.Settings = settings(m.Getenv, []string{"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"})
	for _, name := range []string{"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} {
		if path := m.Getenv(name); path != "" {
			t.Stores = []Store{c.check(name, path, reads{file: true, folder: true, toRoot: true})}
			t.Note = "it is used alone, instead of the list of certifi"
			return
		}
	}
	t.Stores = []Store{{Name: "certifi's list", Verdict: Unknown, Reason: "each Python environment has its own; python -m certifi says where"}}
	t.Note = "the list holds public authorities; SSL_CERT_FILE is not heeded"
}

// node heeds NODE_EXTRA_CA_CERTS beside its own list; whether it knows the system's store, and
// where its OpenSSL looks, depends on its version and build.
func (m Machine) node(t *Trust, c chain) {
	t.Settings = settings(m.Getenv, []string{"NODE_EXTRA_CA_CERTS", "NODE_OPTIONS", "NODE_USE_SYSTEM_CA", "NODE_TLS_REJECT_UNAUTHORIZED", "SSL_CERT_FILE", "SSL_CERT_DIR"})
	if extra := m.Getenv("NODE_EXTRA_CA_CERTS"); extra != "" {
		t.Stores = append(t.Stores, c.check("NODE_EXTRA_CA_CERTS", extra, reads{file: true, toRoot: true}))
	}
	options := strings.Fields(m.Getenv("NODE_OPTIONS"))
	if m.Getenv("NODE_USE_SYSTEM_CA") == "1" || slices.Contains(options, "--use-system-ca") {
		t.Stores = append(t.Stores, Store{Name: "the system store, by --use-system-ca", Verdict: Unknown, Reason: "which store that is, and whether there is one, depends on Node's version"})
	}
	if slices.Contains(options, "--use-openssl-ca") {
		t.Stores = append(t.Stores, Store{Name: "OpenSSL's store, by --use-openssl-ca", Verdict: Unknown, Reason: "where it is depends on how Node was built; SSL_CERT_FILE and SSL_CERT_DIR replace it"})
	} else {
		t.Stores = append(t.Stores, Store{Name: "Node's own list", Verdict: Unknown, Reason: "it is part of the program and holds public authorities"})
	}
	if m.Getenv("NODE_TLS_REJECT_UNAUTHORIZED") == "0" {
		t.Note = "NODE_TLS_REJECT_UNAUTHORIZED=0: it checks no certificate at all"
	}
}

// goProgram is a program in Go, as crypto/x509 finds the roots of a Unix: SSL_CERT_FILE replaces the
// bundle and SSL_CERT_DIR the folders, each by itself.
func (m Machine) goProgram(t *Trust, c chain, system Store) {
	file, dir := m.Getenv("SSL_CERT_FILE"), m.Getenv("SSL_CERT_DIR")
	if !m.unix() || file == "" && dir == "" {
		t.Stores = []Store{system}
		return
	}
	t.Settings = settings(m.Getenv, []string{"SSL_CERT_FILE", "SSL_CERT_DIR"})
	folders := m.folders()
	if dir != "" {
		folders = strings.Split(dir, ":")
	}
	pool, path, n := m.systemPool(file, folders)
	s := Store{Name: "SSL_CERT_FILE and the system's folders", Path: path}
	switch {
	case file == "":
		s.Name = "the system's bundle and SSL_CERT_DIR"
	case dir != "":
		s.Name = "SSL_CERT_FILE and SSL_CERT_DIR"
	}
	if s.Verdict, s.Reason, _ = c.by(pool); n == 0 {
		s.Reason = "they hold no certificate"
	}
	t.Stores = []Store{s}
	t.Note = "a program may bring its own roots"
}

// install are the lines that make a client trust a file: of a POSIX shell, on Windows of PowerShell.
func (m Machine) install(client Client, file string) []string {
	ca := m.quote(file)
	set := func(name string) string {
		if m.os() == "windows" {
			return "$env:" + name + " = " + ca
		}
		return "export " + name + "=" + ca
	}
	switch client {
	case Curl:
		return []string{set("CURL_CA_BUNDLE"), "# or for one call: curl --cacert " + ca}
	case Requests:
		return []string{set("REQUESTS_CA_BUNDLE"), "# or for one call: requests.get(url, verify=" + export.PythonQuote(file) + ")"}
	case Node:
		return []string{set("NODE_EXTRA_CA_CERTS")}
	case Chromium:
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

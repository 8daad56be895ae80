package export

import (
	"fmt"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/fields"
)

// The variables that exports take their secrets from, unless the reference to a
// secret is an environment variable itself.
const (
	KeyEnv      = "ZONEDECK_API_KEY"
	PasswordEnv = "ZONEDECK_ZONE_PASSWORD"
)

// URLEnv is the variable that an exported environment gives the address of the request endpoint in.
const URLEnv = "ZONEDECK_API_URL"

// Source is a fetch to export, with the profile that it is made by.
type Source struct {
	Profile model.Profile
	Request model.FetchRequest
	// Key is the reference of the key that the request uses by API.
	Key string
	// Username is the proxy's username in place of the one that the request makes, or empty.
	Username string
	// Secret is the key's or the password's value, for an export that holds it; empty where
	// the program takes it from the environment.
	Secret string
	// Observed says in one line what compared runs of the request showed, or is empty.
	Observed string
	// AtOnce is how many of the request may be in flight at once, as a probe found, or 0; Probed says what it measured, and when.
	AtOnce int
	Probed string
}

// SecretRef is the reference of the secret that the fetch needs, and what it is in words.
func (s Source) SecretRef() (ref, what string) {
	if s.Request.Via.Login() {
		return s.Request.Zone.Password, "the password of zone " + string(s.Request.Zone.Name)
	}
	return s.Key, "the API key"
}

// Env is the environment variable that the exported program takes its secret from.
func (s Source) Env() string {
	ref, _ := s.SecretRef()
	if name, ok := strings.CutPrefix(ref, "env:"); ok && name != "" {
		return name
	}
	if s.Request.Via.Login() {
		return PasswordEnv
	}
	return KeyEnv
}

// Needs says what the environment of the exported program must hold.
func (s Source) Needs() string {
	ref, what := s.SecretRef()
	line := s.Env() + " is " + what
	if kind, name, ok := strings.Cut(strings.TrimPrefix(ref, "demo:"), "/"); ok && strings.HasPrefix(ref, "demo:") {
		line = fmt.Sprintf("%s is the demo value of %s %s: it is in the file that 'zonedeck paths' calls emulator_running", s.Env(), kind, name)
	}
	return line
}

// Target is a program, or a kind of file, that a fetch is written for.
type Target struct {
	Name  string // as "zonedeck export --as" takes it
	Title string
	File  string // its usual name
	// Login says that it needs no address: it describes the way through the proxy alone.
	Login bool
	write func(call) (string, error)
	// remote writes a page of the remote browser; nil where the target cannot open it.
	remote func(call) (string, error)
}

// Targets are all targets, in the order in which they are offered.
func Targets() []Target {
	return []Target{
		{Name: "curl", Title: "curl", File: "fetch.sh", write: writeCurl},
		{Name: "python", Title: "Python", File: "fetch.py", write: writePython},
		{Name: "go", Title: "Go", File: "fetch.go", write: writeGo},
		{Name: "node", Title: "Node", File: "fetch.mjs", write: writeNode},
		{Name: "scrapy", Title: "Scrapy", File: "spider.py", write: writeScrapy},
		{Name: "playwright", Title: "Playwright", File: "playwright.mjs", write: writePlaywright, remote: remotePlaywright},
		{Name: "puppeteer", Title: "Puppeteer", File: "puppeteer.mjs", write: writePuppeteer, remote: remotePuppeteer},
		{Name: "env", Title: "env", File: "zonedeck.env", Login: true, write: writeEnv},
		{Name: "url", Title: "URL", File: "proxy.txt", Login: true, write: writeURL, remote: remoteURL},
		{Name: "pac", Title: "PAC", File: "proxy.pac", Login: true, write: writePAC},
	}
}

// Find is a target by its name.
func Find(name string) (Target, bool) {
	all := Targets()
	i := slices.IndexFunc(all, func(t Target) bool { return t.Name == name })
	if i < 0 {
		return Target{}, false
	}
	return all[i], true
}

// Names lists the targets' names.
func Names() []string {
	var out []string
	for _, t := range Targets() {
		out = append(out, t.Name)
	}
	return out
}

// Code is the fetch as a program of the target, or as its file. The error says what cannot
// be sent, or why this client cannot send it as it is.
func (t Target) Code(s Source) (string, error) {
	c, err := newCall(s, t.Login)
	if err != nil {
		return "", err
	}
	write := t.write
	if c.remote != "" {
		write = t.remote
	}
	if write == nil {
		return "", fmt.Errorf("%s: the remote browser is opened over CDP: Playwright and Puppeteer can do it", t.Title)
	}
	text, err := write(c)
	if i := slices.IndexFunc(c.Request.Required, fields.OnlyGo); err == nil && i >= 0 && !t.Login && t.Name != "go" && t.Name != "curl" {
		err = fmt.Errorf("the required field %q is a query or a selector that only Go's libraries know", c.Request.Required[i])
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", t.Title, err)
	}
	return text, nil
}

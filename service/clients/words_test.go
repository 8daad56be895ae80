package clients

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// What a report says beside its verdicts: where each client looks, by which settings, and why.
func TestEachClientsStoresAreNamed(t *testing.T) {
	chain, ca := issued(t, "Lab root", "lab.test")
	file := write(t, "ca.pem", ca)
	folder, gone, empty := filepath.Dir(file), file+".gone", write(t, "empty.pem", nil)
	for name, tc := range map[string]struct {
		client model.TrustClient
		os     string
		env    map[string]string
		stores []string // name, path, why
		set    string
		note   string
	}{
		"curl alone":               {model.ClientCurl, "linux", nil, []string{"the bundle it was built with, usually the system store BUNDLE "}, "", "curl -v says"},
		"curl with a file":         {model.ClientCurl, "linux", map[string]string{"SSL_CERT_FILE": file}, []string{"SSL_CERT_FILE " + file + " "}, "SSL_CERT_FILE", "curl -v says"},
		"curl with a folder":       {model.ClientCurl, "linux", map[string]string{"SSL_CERT_DIR": folder}, []string{"the bundle it was built with, usually the system store BUNDLE ", "SSL_CERT_DIR " + folder + " OpenSSL finds no certificate in it"}, "SSL_CERT_DIR", ""},
		"requests, a file of none": {model.ClientRequests, "linux", map[string]string{"REQUESTS_CA_BUNDLE": gone}, []string{"REQUESTS_CA_BUNDLE " + gone + " there is no such file"}, "REQUESTS_CA_BUNDLE", "used alone"},
		"requests, an empty file":  {model.ClientRequests, "linux", map[string]string{"REQUESTS_CA_BUNDLE": empty}, []string{"REQUESTS_CA_BUNDLE " + empty + " it holds no certificate"}, "REQUESTS_CA_BUNDLE", "used alone"},
		"requests, through a file": {model.ClientRequests, "linux", map[string]string{"REQUESTS_CA_BUNDLE": file + "/x"}, []string{"REQUESTS_CA_BUNDLE " + file + "/x it cannot be read: "}, "REQUESTS_CA_BUNDLE", "used alone"},
		"requests alone":           {model.ClientRequests, "linux", nil, []string{"certifi's list  each Python environment"}, "", "SSL_CERT_FILE is not heeded"},
		"Node that checks nothing": {model.ClientNode, "linux", map[string]string{"NODE_TLS_REJECT_UNAUTHORIZED": "0"}, []string{"Node's own list  it is part"}, "NODE_TLS_REJECT_UNAUTHORIZED", "it checks no certificate at all"},
		"Node that checks":         {model.ClientNode, "linux", map[string]string{"NODE_TLS_REJECT_UNAUTHORIZED": "1"}, []string{"Node's own list  it is part"}, "NODE_TLS_REJECT_UNAUTHORIZED", ""},
		"Chromium on Linux":        {model.ClientChromium, "linux", nil, []string{"Chromium's own list  ", "NSS database ~/.pki/nssdb the console cannot read it"}, "", "no variable"},
		"Chromium on macOS":        {model.ClientChromium, "darwin", nil, []string{"Chromium's own list  "}, "", "no variable"},
		"Go alone":                 {model.ClientGo, "linux", nil, []string{"system store BUNDLE "}, "", ""},
		"Go with a file":           {model.ClientGo, "linux", map[string]string{"SSL_CERT_FILE": file}, []string{"SSL_CERT_FILE and the system's folders " + file + " "}, "SSL_CERT_FILE", "its own roots"},
		"Go with a folder":         {model.ClientGo, "linux", map[string]string{"SSL_CERT_DIR": folder}, []string{"the system's bundle and SSL_CERT_DIR BUNDLE "}, "SSL_CERT_DIR", "its own roots"},
		"Go with both":             {model.ClientGo, "linux", map[string]string{"SSL_CERT_FILE": empty, "SSL_CERT_DIR": folder}, []string{"SSL_CERT_FILE and SSL_CERT_DIR " + empty + " "}, "SSL_CERT_FILE,SSL_CERT_DIR", "its own roots"},
		"Go with none of them":     {model.ClientGo, "linux", map[string]string{"SSL_CERT_FILE": empty}, []string{"SSL_CERT_FILE and the system's folders " + empty + " they hold no certificate"}, "SSL_CERT_FILE", "its own roots"},
		"Go on macOS":              {model.ClientGo, "darwin", map[string]string{"SSL_CERT_FILE": file}, []string{"system store  "}, "", ""},
	} {
		m := machine(t, ca, tc.env)
		m.OS = tc.os
		r, err := m.Trust(chain, "lab.test", "")
		noerr.Must(t, err)
		got := of(r, tc.client)
		var set []string
		for _, s := range got.Settings {
			set = append(set, s.Name)
		}
		if strings.Join(set, ",") != tc.set || !strings.Contains(got.Note, tc.note) || tc.note == "" && got.Note != "" && tc.client != model.ClientCurl {
			t.Errorf("%s: by %q, %q", name, set, got.Note)
		}
		if !slices.EqualFunc(got.Stores, tc.stores, func(s model.TrustStore, want string) bool {
			text := fmt.Sprintf("%s %s %s", s.Name, strings.Replace(s.Path, m.Bundles[1], "BUNDLE", 1), s.Reason)
			if strings.HasSuffix(want, " ") && tc.os == "linux" && s.Verdict == model.TrustYes {
				return text == want
			}
			return strings.HasPrefix(text, want)
		}) {
			t.Errorf("%s: %+v", name, got.Stores)
		}
	}
}

// OpenSSL's name of a subject has small letters and single spaces.
func TestAFolderIsReadByTheNamesOfOpenSSL(t *testing.T) {
	for text, want := range map[string]string{
		"Acme Root CA": "acme root ca", "  two\t\n lines\r\v\fhere ": "two lines here", "AZ az ÄÖ": "az az ÄÖ", "": "",
	} {
		if got := canonicalText(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if list, err := folder(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Errorf("a folder that is not there gave %v", list)
	}
}

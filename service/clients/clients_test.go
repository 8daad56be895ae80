package clients

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

var day = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// issued is a chain of a host's certificate and its authority, and the authority as PEM.
func issued(t *testing.T, root, host string) (chain []model.Certificate, ca []byte) {
	t.Helper()
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		noerr.Must(t, err)
		return k
	}
	rootKey, leafKey := key(), key()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: root}, NotBefore: day.AddDate(-1, 0, 0), NotAfter: day.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: day.AddDate(0, -1, 0), NotAfter: day.AddDate(0, 1, 0), KeyUsage: x509.KeyUsageDigitalSignature,
	}
	rootDER, err := x509.CreateCertificate(rand.Reader, authority, authority, &rootKey.PublicKey, rootKey)
	noerr.Must(t, err)
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, authority, &leafKey.PublicKey, rootKey)
	noerr.Must(t, err)
	return []model.Certificate{
		{Subject: "CN=" + host, Issuer: "CN=" + root, DER: leafDER},
		{Subject: "CN=" + root, Issuer: "CN=" + root, SHA256: strings.Repeat("ab", 32), Authority: true, SelfSigned: true, DER: rootDER},
	}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER})
}

// machine is a Linux machine with a system bundle and an environment.
func machine(t *testing.T, bundle []byte, env map[string]string) Machine {
	t.Helper()
	return Machine{
		OS: "linux", Getenv: func(name string) string { return env[name] }, Now: func() time.Time { return day },
		Bundles: []string{filepath.Join(t.TempDir(), "none.crt"), write(t, "bundle.crt", bundle)}, Folders: []string{t.TempDir()},
	}
}

func write(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	noerr.Must(t, os.WriteFile(path, b, 0o600))
	return path
}

// hashedName is the name under which OpenSSL looks for the root of a chain.
func hashedName(t *testing.T, chain []model.Certificate) string {
	t.Helper()
	c, err := parseChain(chain, day)
	noerr.Must(t, err)
	return subjectHash(c.presented[len(chain)-1].RawSubject) + ".0"
}

func TestAFileThatIsGoneIsUntrustedWhateverTheFolderHolds(t *testing.T) {
	chain, ca := issued(t, "Lab root", "lab.test")
	m := machine(t, ca, map[string]string{"CURL_CA_BUNDLE": filepath.Join(t.TempDir(), "gone.pem")})
	m.Folders = []string{filepath.Dir(write(t, hashedName(t, chain), ca))}
	gone, err := m.Trust(chain, "lab.test", "")
	if err != nil || of(gone, model.ClientCurl).Verdict != model.TrustNo {
		t.Errorf("gone: %+v, %v", of(gone, model.ClientCurl), err)
	}
	_, other := issued(t, "Other root", "lab.test")
	theirs := write(t, "other.pem", other)
	m.Getenv = func(name string) string { return map[string]string{"CURL_CA_BUNDLE": theirs}[name] }
	// Some builds look into the folder as well.
	beside, err := m.Trust(chain, "lab.test", "")
	if err != nil || of(beside, model.ClientCurl).Verdict != model.TrustUnknown {
		t.Errorf("beside: %+v, %v", of(beside, model.ClientCurl), err)
	}
}

func of(r model.TrustReport, c model.TrustClient) model.ClientTrust {
	return r.Clients[slices.IndexFunc(r.Clients, func(t model.ClientTrust) bool { return t.Client == c })]
}

func TestEachClientIsAskedWhereItLooks(t *testing.T) {
	chain, ca := issued(t, "Lab root", "lab.test")
	_, other := issued(t, "Other root", "lab.test")
	mine, theirs := write(t, "ca.pem", ca), write(t, "other.pem", other)
	folder, rehashed := filepath.Dir(mine), filepath.Dir(write(t, hashedName(t, chain), ca))
	misnamed := filepath.Dir(write(t, "0a1b2c3d.0", ca))
	for name, tc := range map[string]struct {
		system []byte
		env    map[string]string
		want   map[model.TrustClient]model.TrustVerdict
	}{
		"nothing is set":                 {other, nil, map[model.TrustClient]model.TrustVerdict{model.ClientCurl: model.TrustNo, model.ClientRequests: model.TrustUnknown, model.ClientNode: model.TrustUnknown, model.ClientChromium: model.TrustUnknown, model.ClientGo: model.TrustNo}},
		"the system trusts it":           {ca, nil, map[model.TrustClient]model.TrustVerdict{model.ClientCurl: model.TrustYes, model.ClientRequests: model.TrustUnknown, model.ClientNode: model.TrustUnknown, model.ClientChromium: model.TrustUnknown, model.ClientGo: model.TrustYes}},
		"curl's bundle":                  {other, map[string]string{"CURL_CA_BUNDLE": mine}, map[model.TrustClient]model.TrustVerdict{model.ClientCurl: model.TrustYes, model.ClientRequests: model.TrustYes, model.ClientNode: model.TrustUnknown, model.ClientGo: model.TrustNo}},
		"curl's bundle is another":       {ca, map[string]string{"CURL_CA_BUNDLE": theirs}, map[model.TrustClient]model.TrustVerdict{model.ClientCurl: model.TrustNo, model.ClientRequests: model.TrustNo, model.ClientGo: model.TrustYes}},
		"requests' own comes first":      {other, map[string]string{"CURL_CA_BUNDLE": mine, "REQUESTS_CA_BUNDLE": theirs}, map[model.TrustClient]model.TrustVerdict{model.ClientCurl: model.TrustYes, model.ClientRequests: model.TrustNo}},
		"a file for OpenSSL":             {other, map[string]string{"SSL_CERT_FILE": mine}, map[model.TrustClient]model.TrustVerdict{model.ClientCurl: model.TrustYes, model.ClientRequests: model.TrustUnknown, model.ClientNode: model.TrustUnknown, model.ClientGo: model.TrustYes}},
		"a file for OpenSSL is another":  {ca, map[string]string{"SSL_CERT_FILE": theirs}, map[model.TrustClient]model.TrustVerdict{model.ClientCurl: model.TrustNo, model.ClientGo: model.TrustNo}},
		"a folder, as Go reads it":       {other, map[string]string{"SSL_CERT_DIR": folder}, map[model.TrustClient]model.TrustVerdict{model.ClientCurl: model.TrustNo, model.ClientGo: model.TrustYes}},
		"a folder with a hashed name":    {other, map[string]string{"SSL_CERT_DIR": rehashed, "REQUESTS_CA_BUNDLE": rehashed}, map[model.TrustClient]model.TrustVerdict{model.ClientCurl: model.TrustYes, model.ClientRequests: model.TrustYes, model.ClientGo: model.TrustYes}},
		"Node's extra":                   {other, map[string]string{"NODE_EXTRA_CA_CERTS": mine}, map[model.TrustClient]model.TrustVerdict{model.ClientCurl: model.TrustNo, model.ClientRequests: model.TrustUnknown, model.ClientNode: model.TrustYes, model.ClientGo: model.TrustNo}},
		"Node's extra is another":        {other, map[string]string{"NODE_EXTRA_CA_CERTS": theirs}, map[model.TrustClient]model.TrustVerdict{model.ClientNode: model.TrustUnknown}},
		"Node by OpenSSL":                {other, map[string]string{"NODE_OPTIONS": "--use-openssl-ca", "SSL_CERT_FILE": mine}, map[model.TrustClient]model.TrustVerdict{model.ClientNode: model.TrustUnknown}},
		"Node by OpenSSL, another":       {other, map[string]string{"NODE_OPTIONS": "--use-openssl-ca"}, map[model.TrustClient]model.TrustVerdict{model.ClientNode: model.TrustUnknown}},
		"Node by the system":             {ca, map[string]string{"NODE_USE_SYSTEM_CA": "1"}, map[model.TrustClient]model.TrustVerdict{model.ClientNode: model.TrustUnknown}},
		"Node's extra is a folder":       {other, map[string]string{"NODE_EXTRA_CA_CERTS": rehashed}, map[model.TrustClient]model.TrustVerdict{model.ClientNode: model.TrustUnknown}},
		"one folder of two":              {other, map[string]string{"SSL_CERT_DIR": folder + ":" + rehashed}, map[model.TrustClient]model.TrustVerdict{model.ClientCurl: model.TrustYes, model.ClientGo: model.TrustYes}},
		"a name that is no hash of it":   {other, map[string]string{"SSL_CERT_DIR": misnamed, "REQUESTS_CA_BUNDLE": misnamed}, map[model.TrustClient]model.TrustVerdict{model.ClientCurl: model.TrustNo, model.ClientRequests: model.TrustNo, model.ClientGo: model.TrustYes}},
		"a folder keeps curl's bundle":   {ca, map[string]string{"SSL_CERT_DIR": t.TempDir()}, map[model.TrustClient]model.TrustVerdict{model.ClientCurl: model.TrustYes, model.ClientGo: model.TrustYes}},
		"a folder instead of a file":     {ca, map[string]string{"CURL_CA_BUNDLE": rehashed, "SSL_CERT_FILE": rehashed}, map[model.TrustClient]model.TrustVerdict{model.ClientCurl: model.TrustNo, model.ClientRequests: model.TrustYes, model.ClientGo: model.TrustNo}},
		"the file that is named is gone": {ca, map[string]string{"REQUESTS_CA_BUNDLE": mine + ".gone"}, map[model.TrustClient]model.TrustVerdict{model.ClientRequests: model.TrustNo}},
	} {
		r, err := machine(t, tc.system, tc.env).Trust(chain, "lab.test", "")
		noerr.Must(t, err)
		for client, want := range tc.want {
			if got := of(r, client); got.Verdict != want {
				t.Errorf("%s: %s is %s, want %s: %+v", name, client, got.Verdict, want, got.Stores)
			}
		}
		if r.Root != "CN=Lab root" || r.RootSHA256 == "" || r.HostMismatch != "" || r.File != nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestTheFileAndTheSystemAreReallyChecked(t *testing.T) {
	chain, ca := issued(t, "Lab root", "lab.test")
	_, other := issued(t, "Lab root", "lab.test") // the same name, another key
	for name, tc := range map[string]struct {
		file, system []byte
		now          time.Time
		host         string
		onFile       model.TrustVerdict
		onSystem     model.TrustVerdict
		why          string // of the file
	}{
		"both":           {ca, ca, day, "lab.test", model.TrustYes, model.TrustYes, ""},
		"the file alone": {ca, other, day, "lab.test", model.TrustYes, model.TrustNo, ""},
		"the same name":  {other, ca, day, "lab.test", model.TrustNo, model.TrustYes, "no certificate in it signed this chain"},
		"too late":       {ca, ca, day.AddDate(0, 2, 0), "lab.test", model.TrustNo, model.TrustNo, "expired"},
		"not PEM":        {[]byte("no"), ca, day, "lab.test", model.TrustNo, model.TrustYes, "no certificate in PEM form"},
		"another host":   {ca, ca, day, "shop.test", model.TrustYes, model.TrustYes, ""},
	} {
		m := machine(t, tc.system, nil)
		m.Now = func() time.Time { return tc.now }
		r, err := m.Trust(chain, tc.host, write(t, "ca.pem", tc.file))
		if err != nil || r.File.Verdict != tc.onFile || r.System.Verdict != tc.onSystem || !strings.Contains(r.File.Reason, tc.why) || (r.HostMismatch != "") != (tc.host != "lab.test") {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if _, err := machine(t, ca, nil).Trust(nil, "lab.test", ""); err == nil {
		t.Error("nothing was presented, and there is a report")
	}
	m := machine(t, ca, nil)
	m.Bundles, m.Folders = []string{}, []string{}
	if r, err := m.Trust(chain, "lab.test", ""); err != nil || r.System.Verdict != model.TrustNo || !strings.Contains(r.System.Reason, "this machine has none") {
		t.Errorf("%+v, %v", r.System, err)
	}
	// A chain without its root names who signed it.
	if r, err := machine(t, ca, nil).Trust(chain[:1], "lab.test", ""); err != nil || r.Root != "CN=Lab root" || r.RootSHA256 != "" || r.System.Verdict != model.TrustYes {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestTheWayToInstallIsQuoted(t *testing.T) {
	chain, ca := issued(t, "Lab root", "lab.test")
	r, err := machine(t, ca, nil).Trust(chain, "lab.test", "/home/o'hara/ca.pem")
	noerr.Must(t, err)
	m := machine(t, ca, nil)
	m.OS = "windows"
	if got := strings.Join(append(m.install(model.ClientCurl, `C:\o'hara\ca.pem`), m.InstallSystem("ca.pem")...), "\n"); got != "$env:CURL_CA_BUNDLE = 'C:\\o''hara\\ca.pem'\n# or for one call: curl --cacert 'C:\\o''hara\\ca.pem'\ncertutil -addstore -f ROOT 'ca.pem'" {
		t.Errorf("PowerShell: %s", got)
	}
	if got := m.install(model.ClientRequests, `'C:\new'`)[1]; !strings.HasSuffix(got, `verify="'C:\\new'")`) {
		t.Errorf("Python: %s", got)
	}
	for client, want := range map[model.TrustClient]string{
		model.ClientCurl: `export CURL_CA_BUNDLE='/home/o'\''hara/ca.pem'`, model.ClientRequests: `verify="/home/o'hara/ca.pem"`, model.ClientNode: "export NODE_EXTRA_CA_CERTS=",
		model.ClientChromium: `mkdir -p "$d"`, model.ClientGo: "export SSL_CERT_FILE=",
	} {
		if got := strings.Join(of(r, client).Install, "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: %s", client, got)
		}
	}
}

func TestOuterProxiesAreToldWithoutTheirLogins(t *testing.T) {
	env := map[string]string{
		"HTTPS_PROXY": "http://user:secretword@10.0.0.1:3128", "http_proxy": "10.0.0.1:3128", "ALL_PROXY": "user:secretword@10.0.0.1:1080",
		"NO_PROXY": "localhost,.example.com", "all_proxy": "http://user:secret%zz@h:1", "PATH": "/bin",
	}
	got := Machine{Getenv: func(name string) string { return env[name] }}.OuterProxies()
	want := []model.EnvSetting{
		{Name: "HTTPS_PROXY", Value: "http://••••@10.0.0.1:3128"},
		{Name: "http_proxy", Value: "10.0.0.1:3128"},
		{Name: "ALL_PROXY", Value: "••••@10.0.0.1:1080"},
		{Name: "all_proxy", Value: "http://••••@h:1"},
		{Name: "NO_PROXY", Value: "localhost,.example.com"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	if got := (Machine{Getenv: func(string) string { return "" }}).OuterProxies(); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func FuzzOuterProxiesHoldNoLogin(f *testing.F) {
	f.Add("http://", "@h:1")
	f.Fuzz(func(t *testing.T, before, after string) {
		const secret = "Xk93hcz7QpassW"
		if !strings.Contains(after, "@") {
			t.Skip() // the secret is then no login
		}
		if got := withoutLogin(before + "user:" + secret + after); strings.Contains(got, secret) {
			t.Errorf("%q", got)
		}
	})
}

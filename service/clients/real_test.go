package clients

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// lab is a web site whose certificate was signed by an authority in the middle of a chain.
type lab struct {
	url          string
	chain        []model.Certificate // as it is presented: without the root
	root, middle []byte              // PEM
}

func openLab(t *testing.T) lab {
	t.Helper()
	now := time.Now() // real clients go by the machine's clock
	var up *x509.Certificate
	var upKey *ecdsa.PrivateKey
	var l lab
	pair := tls.Certificate{}
	for i, name := range []string{"Zonedeck  Lab Root É", "Zonedeck Lab Middle", "127.0.0.1"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		noerr.Must(t, err)
		c := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 1)), Subject: pkix.Name{CommonName: name, Organization: []string{"Lab"}, Country: []string{"DE"}},
			NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), BasicConstraintsValid: true,
			IsCA: i < 2, KeyUsage: x509.KeyUsageCertSign, SubjectKeyId: []byte{byte(i + 1)},
		}
		if i == 2 {
			c.KeyUsage, c.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
			c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
		}
		if i == 0 {
			up, upKey = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, up, &key.PublicKey, upKey)
		noerr.Must(t, err)
		if up, err = x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
		upKey = key
		block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		switch i {
		case 0:
			l.root = block
			continue
		case 1:
			l.middle = block
		}
		l.chain = slices.Insert(l.chain, 0, model.Certificate{Subject: up.Subject.String(), Issuer: up.Issuer.String(), DER: der})
		pair.Certificate, pair.PrivateKey = slices.Insert(pair.Certificate, 0, der), key
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	l.url = s.URL
	return l
}

// askedURL makes this test program a client in Go.
const askedURL = "ZONEDECK_TEST_ASK"

func TestMain(m *testing.M) {
	if url := os.Getenv(askedURL); url != "" {
		resp, err := http.Get(url)
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		return
	}
	os.Exit(m.Run())
}

// succeeds runs a client's program with nothing but env in its environment.
func succeeds(t *testing.T, env []string, in io.Reader, out io.Writer, name string, args ...string) bool {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("install %s to run this test", name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Stdin, cmd.Stdout = append(slices.Clone(env), "PATH="+os.Getenv("PATH"), "HOME="+t.TempDir()), in, out
	return cmd.Run() == nil
}

const requestsProgram = `
import json, os, sys, requests
out = []
for env in json.load(sys.stdin):
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        os.environ.pop(name, None)
    os.environ.update(env)
    try:
        requests.get(sys.argv[1], timeout=60)
        out.append(True)
    except (requests.exceptions.SSLError, OSError):
        out.append(False)
json.dump(out, sys.stdout)
`

// cases are environments; what the clients make of them is asked of the clients.
func (l lab) cases(t *testing.T) []map[string]string {
	root, middle := write(t, "root.pem", l.root), write(t, "middle.pem", l.middle)
	_, otherPEM := issued(t, "Other root", "lab.test")
	other, both, none := write(t, "other.pem", otherPEM), write(t, "both.pem", slices.Concat(otherPEM, l.root)), write(t, "none.pem", []byte("no certificate"))
	block, _ := pem.Decode(l.root)
	cert, err := x509.ParseCertificate(block.Bytes)
	noerr.Must(t, err)
	hashed := filepath.Dir(write(t, subjectHash(cert.RawSubject)+".0", l.root))
	second := t.TempDir() // the first of a hash is missing
	noerr.Must(t, os.WriteFile(filepath.Join(second, subjectHash(cert.RawSubject)+".1"), l.root, 0o600))
	misnamed, plain, empty := filepath.Dir(write(t, "0a1b2c3d.0", l.root)), filepath.Dir(root), t.TempDir()
	gone := filepath.Join(empty, "gone")
	var out []map[string]string
	for _, path := range []string{root, middle, other, both, none, hashed, second, misnamed, plain, empty, gone, plain + ":" + hashed} {
		for _, name := range []string{"CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
			out = append(out, map[string]string{name: path})
		}
	}
	return append(out, map[string]string{},
		map[string]string{"CURL_CA_BUNDLE": root, "REQUESTS_CA_BUNDLE": root, "NODE_EXTRA_CA_CERTS": root},
		map[string]string{"CURL_CA_BUNDLE": gone, "SSL_CERT_FILE": root, "SSL_CERT_DIR": hashed},
		map[string]string{"SSL_CERT_FILE": other, "SSL_CERT_DIR": hashed},
		map[string]string{"SSL_CERT_FILE": gone, "SSL_CERT_DIR": hashed},
		map[string]string{"SSL_CERT_FILE": root, "SSL_CERT_DIR": gone},
		map[string]string{"REQUESTS_CA_BUNDLE": other, "CURL_CA_BUNDLE": root},
		map[string]string{"NODE_OPTIONS": "--use-openssl-ca", "SSL_CERT_FILE": root},
		map[string]string{"NODE_OPTIONS": "--use-openssl-ca", "NODE_EXTRA_CA_CERTS": root},
		map[string]string{"NODE_OPTIONS": "--use-openssl-ca", "SSL_CERT_DIR": hashed},
		map[string]string{"NODE_EXTRA_CA_CERTS": root, "NODE_USE_SYSTEM_CA": "1"},
	)
}

func TestNoVerdictContradictsTheRealClient(t *testing.T) {
	l := openLab(t)
	cases := l.cases(t)
	ask := map[model.TrustClient]func(t *testing.T) []bool{
		model.ClientCurl: func(t *testing.T) []bool {
			return each(cases, []string{"CURL", "SSL"}, func(env []string) bool {
				return succeeds(t, env, nil, nil, "curl", "-q", "--silent", "--output", os.DevNull, l.url)
			})
		},
		model.ClientNode: func(t *testing.T) []bool {
			return each(cases, []string{"NODE"}, func(env []string) bool {
				return succeeds(t, env, nil, nil, "node", "-e", "fetch(process.argv[1]).catch(() => process.exit(1))", l.url)
			})
		},
		model.ClientGo: func(t *testing.T) []bool {
			self, err := os.Executable()
			noerr.Must(t, err)
			return each(cases, []string{"SSL"}, func(env []string) bool {
				return succeeds(t, append(env, askedURL+"="+l.url, "GORACE=atexit_sleep_ms=0"), nil, nil, self)
			})
		},
		model.ClientRequests: func(t *testing.T) []bool {
			for _, python := range []string{"/usr/bin/python3", "python3"} {
				if !succeeds(t, nil, nil, nil, python, "-c", "import requests") {
					continue
				}
				in, err := json.Marshal(cases)
				noerr.Must(t, err)
				var out strings.Builder
				var all []bool
				if !succeeds(t, nil, strings.NewReader(string(in)), &out, python, "-c", requestsProgram, l.url) || json.Unmarshal([]byte(out.String()), &all) != nil {
					t.Fatalf("requests said %q", out.String())
				}
				return all
			}
			t.Skip("install python3-requests to run this test")
			return nil
		},
	}
	for client, run := range ask {
		t.Run(string(client), func(t *testing.T) {
			t.Parallel()
			said := map[model.TrustVerdict]int{}
			for i, ok := range run(t) {
				m := Machine{Getenv: func(name string) string { return cases[i][name] }, Now: time.Now}
				r, err := m.Trust(l.chain, "127.0.0.1", "")
				noerr.Must(t, err)
				got := of(r, client)
				said[got.Verdict]++
				if got.Verdict != model.TrustUnknown && (got.Verdict == model.TrustYes) != ok {
					t.Errorf("%v: it got through: %t; the verdict is %s: %+v", cases[i], ok, got.Verdict, got.Stores)
				}
			}
			t.Logf("%v", said)
			if said[model.TrustYes] == 0 || said[model.TrustNo] == 0 && client != model.ClientNode { // Node's own list is never known
				t.Errorf("it is said nearly nothing: %v", said)
			}
		})
	}
}

// each runs a client in the environments that have a variable of its families, and in those with
// several or none; the others are as the one with none.
func each(cases []map[string]string, families []string, run func(env []string) bool) (out []bool) {
	none := run(nil)
	for _, c := range cases {
		var env []string
		heeds := len(c) != 1
		for name, value := range c {
			env = append(env, name+"="+value)
			family, _, _ := strings.Cut(name, "_")
			heeds = heeds || slices.Contains(families, family)
		}
		if !heeds {
			out = append(out, none)
			continue
		}
		out = append(out, run(env))
	}
	return out
}

// The lines for Chromium's store are run as they are shown, where nothing is yet.
func TestTheLinesForChromiumWorkInANewHome(t *testing.T) {
	if _, err := exec.LookPath("certutil"); err != nil {
		t.Skip("install libnss3-tools to run this test")
	}
	l := openLab(t)
	ca := write(t, "o'hara.pem", l.root)
	lines := strings.Join(Machine{OS: "linux"}.install(model.ClientChromium, ca), "\n")
	for name, before := range map[string]string{
		"a new home": "", "a folder from before": `mkdir -p "$HOME/.pki/nssdb"` + "\n", "another data folder": `export XDG_DATA_HOME="$HOME/data"` + "\n",
	} {
		var out strings.Builder
		if !succeeds(t, nil, strings.NewReader(before+lines+"\n"+`certutil -d sql:"$d" -L; echo "${d#$HOME}"`), &out, "sh") || !strings.Contains(out.String(), "zonedeck-ca") {
			t.Errorf("%s:\n%s\n%s", name, lines, out.String())
		}
		want := map[string]string{"a folder from before": "/.pki/nssdb", "another data folder": "/data/pki/nssdb"}[name]
		if !strings.HasSuffix(strings.TrimSpace(out.String()), cmp.Or(want, "/.local/share/pki/nssdb")) {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}

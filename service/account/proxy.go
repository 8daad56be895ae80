package account

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/exchange"
)

// The bounds of an archive of certificates.
const (
	bundleFiles = 64
	bundleFile  = 256 << 10
)

// certificates looks at the profile's CA file, or fetches the published one.
func (r *reader) certificates(ctx context.Context) {
	f := &r.found
	if r.p.CA != "" {
		text, err := textfile.ReadBounded(r.p.CA, bundleFile)
		if err != nil {
			f.Certificates = bad("%v", err)
			return
		}
		f.Certificates = r.judge(r.p.CA, text)
		return
	}
	base, at, ok := r.d.CABundle(r.p.BaseURL)
	if !ok {
		f.Certificates = open("no certificate is published")
		return
	}
	from := r.p
	from.BaseURL = base
	a, err := r.ask(ctx, exchange.Call{Profile: from, KeyName: keyName, Method: http.MethodGet, Path: at}) // anybody may read it
	if err == nil && !a.ok() {
		err = errors.New(a.describe())
	}
	var name string
	if err == nil {
		name, f.CA, err = unpack(a.body, r.wantedFile())
	}
	if err != nil {
		f.Certificates = warn("%s%s: %v", base, at, err)
		return
	}
	f.Certificates = r.judge(name, f.CA)
	if f.Certificates.State == Failed {
		f.CA = nil
	}
}

// wantedFile is the file of the archive that belongs to the proxy, or empty.
func (r *reader) wantedFile() string {
	for _, e := range r.d.ProxyEntries() {
		if e.Host == r.found.Host && e.Port == r.found.Port {
			return e.CA
		}
	}
	return ""
}

// unpack takes a certificate out of an archive: the wanted file, or the only one there is.
func unpack(archive []byte, wanted string) (name string, text []byte, err error) {
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil || len(z.File) > bundleFiles {
		return "", nil, errors.New("this is not an archive of certificates")
	}
	var files []*zip.File
	for _, f := range z.File {
		base := path.Base(f.Name)
		if ext := path.Ext(base); ext != ".crt" && ext != ".pem" || strings.HasPrefix(base, ".") {
			continue
		}
		if base == wanted {
			files = []*zip.File{f}
			break
		}
		files = append(files, f)
	}
	if len(files) != 1 {
		return "", nil, fmt.Errorf("the archive has %d certificates, and none is named for this proxy: choose the file yourself", len(files))
	}
	from, err := files[0].Open()
	if err != nil {
		return "", nil, errors.New("the archive is damaged")
	}
	defer from.Close()
	text, err = io.ReadAll(io.LimitReader(from, bundleFile+1))
	if err != nil || len(text) > bundleFile {
		return "", nil, errors.New("the archive is damaged")
	}
	if block, _ := pem.Decode(text); block == nil { // DER, as some .crt files are
		text = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: text})
	}
	return model.Line(path.Base(files[0].Name), 80), text, nil
}

// judge says what a file of certificates is worth now.
func (r *reader) judge(name string, text []byte) Verdict {
	var last time.Time
	n := 0
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil || block.Type != "CERTIFICATE" {
			continue
		}
		if n++; c.NotAfter.After(last) {
			last = c.NotAfter
		}
	}
	now := time.Now
	if r.cfg.Now != nil {
		now = r.cfg.Now
	}
	switch day := last.UTC().Format(time.DateOnly); {
	case n == 0:
		return bad("%s holds no certificate", name)
	case last.Before(now()):
		return bad("%s ended on %s", name, day)
	default:
		return good("%s, valid until %s", name, day)
	}
}

// proxy tests the proxy by the first zone whose password is known.
func (r *reader) proxy(ctx context.Context) {
	f := &r.found
	i := -1
	for n, z := range f.Zones {
		if z.Password.Empty() || z.Verdict.State == Warning {
			continue
		}
		if i < 0 || z.Zone.Product == model.ProductUnlocker && f.Zones[i].Zone.Product != model.ProductUnlocker { // its chain shows the CA
			i = n
		}
	}
	switch {
	case f.Host == "":
		f.Proxy = open("not tested: the host is unknown")
		return
	case i < 0:
		f.Proxy = open("not tested: no zone's password is known")
		return
	case r.cfg.Prober == nil:
		return
	}
	p, _ := r.source().Profile(ctx)
	p.ProxyHost, p.ProxyPort, p.UsernamePrefix = f.Host, f.Port, f.Prefix
	if p.CA == "" && f.CA != nil {
		name, err := scratch(f.CA)
		if err != nil {
			f.Proxy = warn("not tested: %v", err)
			return
		}
		defer func() { _ = os.Remove(name) }() // a public certificate, in the temporary folder
		p.CA = name
	}
	zone := f.Zones[i]
	zone.Zone.Password = draftRef
	res, err := r.cfg.Prober.ProbeDraft(ctx, p, zone.Zone, zone.Password)
	f.Proxy = verdictOf(p, zone.Zone, res, err)
	if res.Diagnosis.Cause == model.CauseTLSTrust {
		f.Certificates = bad("it does not sign what the proxy presents: %s", res.Diagnosis.Summary)
	}
}

// draftRef stands for the reference of a password that is stored nowhere yet; Probe is given the value.
const draftRef = "env:ZONEDECK_ZONE_PASSWORD"

// verdictOf is the verdict on a test of a proxy.
func verdictOf(p model.Profile, z model.Zone, res model.ProbeResult, err error) Verdict {
	switch {
	case err != nil:
		return bad("%s", model.Line(err.Error(), 200))
	case res.Diagnosis.OK():
		return good("%s by zone %s", p.ProxyAddr(), z.Name)
	case res.ConnectStatus != 0 && res.Diagnosis.Cause != model.CauseLoginRejected && res.Diagnosis.Cause != model.CauseTLSTrust:
		return warn("%s accepts the login of zone %s, and the test page %s is not reached: %s", p.ProxyAddr(), z.Name, res.Target, res.Diagnosis.Summary)
	default:
		return bad("%s by zone %s: %s", p.ProxyAddr(), z.Name, res.Diagnosis.Summary)
	}
}

// scratch is a file with a public certificate for the time of one test.
func scratch(text []byte) (name string, err error) {
	f, err := os.CreateTemp("", "zonedeck-ca-*.pem")
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), err
}

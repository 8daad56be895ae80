package fetch

import (
	"errors"
	"fmt"
	"path/filepath"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// verdict is the diagnosis of a try.
func (f *flight) verdict(t *try) model.Diagnosis {
	o := &t.outcome
	o.URL, o.Header = f.r.URL, t.header
	if f.ft.cfg.url != nil {
		o.URL = *f.ft.cfg.url
	}
	if o.Header == nil {
		o.Header = t.proxyHeader
	}
	o.TooFastBefore = f.inARow
	d := model.Diagnose(*o, f.rules...)
	// A test page with a text of its own shows it, or proves nothing.
	if f.ft.cfg.proof && (d.OK() || f.p.TestText != "" && d.Cause == model.CauseTargetError) && !f.d.IsTestPage(f.p, o.BodyHead) {
		d = notTheTestPage(f.r.URL, f.p.TestText, d)
	}
	if fault := f.fault; fault != nil {
		if in, ok := errors.AsType[*textfile.Error](fault); ok { // the place in the file matters more than its folder
			short := *in
			short.File = filepath.Base(in.File)
			fault = &short
		}
		d.Evidence = append(d.Evidence, model.Evidence{Kind: "note", Text: "your rules are not used: " + fault.Error()})
	}
	d.Evidence = append(d.Evidence, t.body.Notes...)
	return d
}

// notTheTestPage is the diagnosis of a proof that was answered with another page than the one it asked for: a network that
// wants to be signed in to, for example, answers every call with 200.
func notTheTestPage(url, text string, d model.Diagnosis) model.Diagnosis {
	lacks := ""
	if text != "" {
		lacks = fmt.Sprintf(", because it does not show %q (test_text)", text)
	}
	return model.Diagnosis{
		Class: model.ClassOutside, Cause: model.CauseUnrecognised, Rule: "not_the_test_page", Evidence: d.Evidence,
		Summary: "What came is not the test page " + url + lacks + ": something on the way may have answered in its place.",
	}
}

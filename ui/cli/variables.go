package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/fetch"
)

// textBreak separates the texts of one field, such as a tool's arguments, while variables are put
// in. Neither a command's argument nor the environment can hold it.
const textBreak = "\x00"

// flagVariables are the variables of --var, and then those of the profile and the environment.
type flagVariables struct {
	given map[string]string
	t     *task
}

// Variable implements fetch.Variables.
func (v flagVariables) Variable(name string) (model.Variable, bool) {
	if value, ok := v.given[name]; ok {
		return model.Variable{Value: value}, true
	}
	return v.t.Variable(name)
}

// flagKeys are the keys that --key may name.
type flagKeys struct {
	p model.Profile
	t *task
}

// Pick implements fetch.Keys.
func (k flagKeys) Pick(name string) (model.Key, error) {
	if name == "" && k.p.Key == "" {
		return model.Key{}, fmt.Errorf("profile %q names no key: add --key NAME, set %s, or write key = \"NAME\" into the profile", k.p.Name, service.EnvKey)
	}
	key, known := k.t.Keys.Key(cmp.Or(name, k.p.Key))
	if !known {
		return key, fmt.Errorf("key %q is not in the inventory: 'zonedeck keys list' shows the keys", cmp.Or(name, k.p.Key))
	}
	if key.Secret == "" { // sending says why: it is only tracked, under rotation, or not to be used
		return model.Key{}, nil
	}
	return key, nil
}

// OtherAccount implements fetch.Keys: a command is asked nothing, and what it may not send is refused when it is sent.
func (flagKeys) OtherAccount(string) string { return "" }

// checked returns the request of the flags as it is sent, and its profile; for any zone the zones, too, whose names
// d.Request.Zone has with textBreak between them. An error names all mistakes; wrong are those of a command's own flags. free says that the URL may be missing.
func (t *task) checked(ctx context.Context, f askFlags, d fetch.Draft, free bool, wrong ...error) (p model.Profile, r model.FetchRequest, zones []model.Zone, err error) {
	values, err := f.values()
	wrong = append(wrong, err)
	if f.Retries < -1 {
		wrong = append(wrong, fmt.Errorf("--retries %d: write how many tries may follow the first, 0 or more", f.Retries))
	}
	if d.Request.URL != "" && d.Request.Options.Query != "" {
		wrong = append(wrong, errors.New("--query: the URL follows from it; leave the URL out"))
	}
	variables := flagVariables{values, t}
	early := d
	early.AnyZone = true
	report := fetch.Check(fetch.Known{Profile: t.CurrentProfile(), Variables: variables}, early)
	if err := errors.Join(append(wrong, mistakes(report, free)...)...); err != nil {
		return p, r, nil, usage("%w", err)
	}
	if p, err = t.Profile(ctx); err != nil {
		return p, r, nil, fail(exitState, "%w", err)
	}
	if !d.AnyZone {
		known := t.Known(p)
		known.Keys, known.Variables = flagKeys{p, t}, variables
		report = fetch.Check(known, d)
		if all := mistakes(report, free); len(all) > 0 {
			return p, r, nil, usage("%w", errors.Join(all...))
		}
	}
	if f.Key != "" {
		if _, err := (flagKeys{p, t}).Pick(f.Key); err != nil {
			return p, r, nil, usage("%w", err)
		}
	}
	if !report.Request.Via.Login() {
		t.Keys.Warn(f.Key, model.CapUse)
	}
	for _, n := range report.Notes {
		if n.About == "url" {
			t.app.say("zonedeck: the URL: %s", n.Text)
		}
	}
	if r = report.Request; d.AnyZone {
		for _, name := range unique(strings.Split(string(r.Zone.Name), textBreak)) {
			zone, err := t.Zone(p, name)
			if err != nil {
				return p, r, nil, err
			}
			zones = append(zones, zone)
		}
	}
	return p, r, zones, nil
}

// mistakes are what is wrong with the request of the flags; free says that the URL may be missing.
func mistakes(report fetch.Report, free bool) (all []error) {
	for _, p := range report.Problems {
		switch noURL := p.Field == "url" && report.Request.URL == ""; {
		case p.Field == "key":
			all = append(all, p.Err)
		case !noURL:
			all = append(all, fmt.Errorf("%s: %w", p.Field, p.Err))
		case !free:
			all = append(all, errors.New("name the URL to fetch, or say with --query what to search for"))
		}
	}
	unknown := false
	for _, q := range report.Questions {
		for _, field := range q.Facts { // where the variable stands
			all, unknown = append(all, fmt.Errorf("%s: %s", field.Text, q.Text)), true
		}
	}
	if unknown {
		all = append(all, errors.New("give a value by --var name=value, in the profile's variables, or in the environment"))
	}
	return all
}

// values returns the variables of --var by name.
func (f formFlags) values() (map[string]string, error) {
	out := map[string]string{}
	for _, v := range f.Vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok || !model.VariableName(name) {
			return nil, errors.New("--var: write name=value; a name has letters, digits and underscores")
		}
		out[name] = value
	}
	return out, nil
}

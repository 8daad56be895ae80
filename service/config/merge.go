package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"zonedeck/keystore"
	"zonedeck/model"
)

// errChanged says that what a change is about was changed in the file, too, since it was read.
var errChanged = errors.New("it was changed in the config file meanwhile")

// setting is a field by its name in the file.
type setting struct {
	name string
	at   any // a pointer to it
}

func (s setting) value() reflect.Value { return reflect.ValueOf(s.at).Elem() }

func (s setting) text() string { return strings.Trim(fmt.Sprint(s.value()), "[]") }

func settings(p *model.Profile) []setting {
	return []setting{
		{"base_url", &p.BaseURL},
		{"proxy_host", &p.ProxyHost},
		{"proxy_port", &p.ProxyPort},
		{"agent_url", &p.AgentURL},
		{"browser_url", &p.BrowserURL},
		{"username_prefix", &p.UsernamePrefix},
		{"account", &p.Account},
		{"dialect", &p.Dialect},
		{"key", &p.Key},
		{"api_version", &p.APIVersion},
		{"ca", &p.CA},
		{"verify", &p.Verify},
		{"read_only", &p.ReadOnly},
		{"color", &p.Color},
		{"allowed_domains", &p.AllowedDomains},
		{"max_job_cost", &p.MaxJobCost},
		{"key_rate", &p.KeyRate},
		{"timeouts", &p.Timeouts},
		{"test_url", &p.TestURL},
		{"test_text", &p.TestText},
		{"database", &p.Database},
	}
}

func zoneSettings(z *model.Zone) []setting {
	return []setting{
		{"product", &z.Product},
		{"identity_verified", &z.IdentityVerified},
		{"password", &z.Password},
		{"rate_per_1000", &z.Rate.Per1000},
		{"rate_per_gb", &z.Rate.PerGB},
	}
}

// merged is what the file says now, with what differs between before and p. What has another value
// now than before, and yet another in p, is an error that says what it is now.
func merged(before, now, p model.Profile) (model.Profile, error) {
	out := now
	said := mergeSettings("", settings(&before), settings(&out), settings(&p))
	out.Zones = nil
	for _, z := range now.Zones {
		was, had := before.Zone(string(z.Name))
		want, has := p.Zone(string(z.Name))
		if !has && had {
			if was != z {
				said = append(said, fmt.Sprintf("zone %s has other settings now", z.Name))
			}
			continue
		}
		if has {
			said = append(said, mergeSettings(fmt.Sprintf("zone %s: ", z.Name), zoneSettings(&was), zoneSettings(&z), zoneSettings(&want))...)
		}
		out.Zones = append(out.Zones, z)
	}
	for _, z := range p.Zones {
		if _, there := now.Zone(string(z.Name)); there {
			continue
		}
		if was, had := before.Zone(string(z.Name)); !had {
			out.Zones = append(out.Zones, z)
		} else if was != z {
			said = append(said, fmt.Sprintf("zone %s is not there any more", z.Name))
		}
	}
	if len(said) > 0 {
		return now, fmt.Errorf("%w, and nothing was saved: %s. Open it anew to change it", errChanged, strings.Join(said, "; "))
	}
	return out, nil
}

// mergeSettings puts what differs between before and want into now, and says where that differs, too.
func mergeSettings(of string, before, now, want []setting) (said []string) {
	for i, s := range want {
		switch is, was := now[i].text(), before[i].text(); {
		case s.text() == was, s.text() == is:
		case is == was:
			now[i].value().Set(s.value())
		case is == "":
			said = append(said, of+s.name+" is empty now")
		default:
			if s.name == "password" {
				is = keystore.Ref(is).Label()
			}
			said = append(said, of+s.name+" is "+is+" now")
		}
	}
	return said
}

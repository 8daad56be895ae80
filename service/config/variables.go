package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"zonedeck/keystore"
	"zonedeck/model"
)

func checkVariables(p *model.Profile) *fieldError {
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		if !model.VariableName(name) {
			return &fieldError{"variables", fmt.Sprintf("%q cannot name a variable", name), "letters, digits and underscores, not starting with a digit"}
		}
		value := p.Variables[name]
		if !isRef(value) {
			continue
		}
		if _, err := keystore.ParseRef(value); err != nil {
			return &fieldError{"variables", fmt.Sprintf("the variable %s is %s", name, err), ""}
		}
	}
	return nil
}

// isRef reports whether a variable's value begins as a reference to a secret does.
func isRef(value string) bool {
	scheme, _, ok := strings.Cut(value, ":")
	return ok && slices.Contains(keystore.Schemes(), scheme)
}

// Variable is what a variable of a request stands for: what the profile says, else the
// environment. A reference of the profile is a secret, and so is a variable of the environment
// whose name says that it is one, or whose value holds a login. What is a key's or a zone's password goes to no target: own
// tells by its reference.
func Variable(p model.Profile, name string, getenv func(string) string, own func(ref string) bool) (model.Variable, bool) {
	value, ok := p.Variables[name]
	v := model.Variable{Value: value}
	switch {
	case ok && isRef(value):
		v = model.Variable{Ref: value}
	case ok:
		return v, true
	default:
		if value = getenv(name); value == "" {
			return model.Variable{}, false
		}
		v = model.Variable{Ref: "env:" + name}
	}
	password := slices.ContainsFunc(p.Zones, func(z model.Zone) bool { return z.Password == v.Ref })
	switch {
	case password || own(v.Ref) || strings.HasPrefix(name, "ZONEDECK_"):
		return model.Variable{Refused: "it is a key or a password of the console, which goes to no target"}, true
	case ok || model.SecretName(name) || hasLogin(value):
		return v, true
	}
	return model.Variable{Value: value}, true
}

// hasLogin reports whether a login stands in a value, as in an address (user:password@host).
func hasLogin(value string) bool {
	before, _, ok := strings.Cut(value, "@")
	return ok && strings.Contains(before, ":")
}

package cli

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"zonedeck/model"
)

// textBreak separates the texts of one field, such as a tool's arguments, while variables are put
// in. Neither a command's argument nor the environment can hold it.
const textBreak = "\x00"

// fillIn puts the values of variables into the flags, the target and rest: zone, session, tool and
// arguments, which not every command has.
func (t *task) fillIn(f *formFlags, target *string, rest *model.FetchRequest) error {
	values, err := f.values()
	if err != nil {
		return usage("%w", err)
	}
	whole := *rest
	whole.URL, whole.Method, whole.Body, whole.Country = *target, f.Method, f.Body, f.Country
	whole.Header, whole.Options = http.Header{"": f.Headers}, f.Options.Options
	whole, problems := whole.Resolve(func(name string) (model.Variable, bool) {
		if v, ok := values[name]; ok {
			return model.Variable{Value: v}, true
		}
		return t.Variable(name)
	})
	if len(problems) > 0 {
		return usage("%w", unresolved(problems))
	}
	*target, f.Method, f.Body, f.Country = whole.URL, whole.Method, whole.Body, whole.Country
	f.Headers, f.Options.Options, f.secrets = whole.Header[""], whole.Options, whole.Secrets
	*rest = whole
	return nil
}

// unresolved names the variables that have no usable value, and says how to give them one.
func unresolved(problems []model.FieldProblem) error {
	var all []error
	unknown := false
	for _, p := range problems {
		if _, is := errors.AsType[*model.UnknownVariableError](p.Err); is {
			unknown = true
		}
		all = append(all, fmt.Errorf("%s: %w", p.Field, p.Err))
	}
	if unknown {
		all = append(all, errors.New("give a value by --var name=value, in the profile's variables, or in the environment"))
	}
	return errors.Join(all...)
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

package importers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"zonedeck/model"
)

// assemble makes the request of what the options said.
func (c *call) assemble(known Known) error {
	p := known.Profile
	if len(c.urls) > 1 {
		c.out.dropped("only the first URL was taken, of %d", len(c.urls))
	}
	address, err := c.address()
	if err != nil {
		return err
	}
	c.trust(p)
	if !c.globoff && strings.ContainsAny(address, "[]{}") {
		c.out.dropped("brackets and braces in the URL are ranges to curl (without -g): they were taken as they stand")
	}
	body := strings.Join(c.data, "&")
	if c.get {
		c.query, c.sent, body = append(c.query, c.data...), false, ""
	}
	address = withQuery(address, c.query)
	if c.toAPI(address, body, p) {
		return c.api(address, body, known)
	}
	r := &c.out.Request
	r.URL = address
	r.Method = c.verb()
	r.Body = body
	if c.user != "" && !c.has("Authorization") {
		c.out.replaced("the login of the target (%s) was left out: {{authorization}} stands for user:password in base64", c.user)
		c.headers = append(c.headers, "Authorization: Basic "+markEnv+"authorization"+markEnv)
	}
	kind := "application/x-www-form-urlencoded"
	if c.json {
		kind = "application/json"
	}
	if c.json && !c.has("Accept") {
		c.headers = append(c.headers, "Accept: "+kind)
	}
	if c.sent && !c.has("Content-Type") {
		c.headers = append(c.headers, "Content-Type: "+kind)
	}
	if r.Header, err = c.target(c.headers, true); err != nil {
		return err
	}
	c.throughProxy(p)
	c.out.Request = form(c.out.Request)
	return nil
}

// verb is the method of the request to the target; empty means GET.
func (c *call) verb() string {
	switch {
	case c.method != "":
		if c.method == http.MethodGet {
			return ""
		}
		return c.method
	case c.head:
		return http.MethodHead
	case c.sent:
		return http.MethodPost
	}
	return ""
}

// address is the URL, without the login that it may hold.
func (c *call) address() (string, error) {
	address := strings.TrimSpace(c.urls[0])
	if scheme, _, ok := strings.Cut(address, "://"); !ok || strings.ContainsAny(scheme, "/?#@"+markEnv) {
		if strings.HasPrefix(address, markEnv) { // the whole address is a variable
			return address, nil
		}
		address = "http://" + address
	} else if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return "", refuse("the URL is neither http nor https")
	}
	scheme, rest, _ := strings.Cut(address, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndex(rest[:end], "@"); at >= 0 {
		c.user = "in the URL"
		rest = rest[at+1:]
	}
	return scheme + "://" + rest, nil
}

// withQuery adds to the query of an address, before its fragment.
func withQuery(address string, query []string) string {
	if len(query) == 0 {
		return address
	}
	address, fragment, has := strings.Cut(address, "#")
	sep := "?"
	if strings.Contains(address, "?") {
		sep = "&"
	}
	address += sep + strings.Join(query, "&")
	if has {
		address += "#" + fragment
	}
	return address
}

// trust says what the command does about certificates that the profile does otherwise.
func (c *call) trust(p model.Profile) {
	if c.insecure && p.Verify {
		c.out.dropped("-k: the profile decides whether certificates are checked (verify)")
	}
	if c.ca != "" && c.ca != p.CA {
		c.out.dropped("--cacert: the profile decides which authority is trusted (ca)")
	}
}

// toAPI reports whether the call is one of POST /request (contract 4.1).
func (c *call) toAPI(address, body string, p model.Profile) bool {
	if p.BaseURL != "" && strings.EqualFold(strings.TrimRight(address, "/"), p.BaseURL+"/request") {
		return true
	}
	u, err := url.Parse(address)
	if err != nil || !strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/request") || c.proxy != "" {
		return false
	}
	fields, err := object(body)
	return err == nil && fields["zone"] != nil && fields["url"] != nil
}

// api takes the fields of the API's body.
func (c *call) api(address, body string, known Known) error {
	c.out.Source = c.out.Source + ", API Access"
	r := &c.out.Request
	r.Via, r.Format = model.ViaAPI, model.FormatRaw
	if !strings.EqualFold(strings.TrimRight(address, "/"), known.Profile.BaseURL+"/request") {
		c.out.dropped("the address of its API is not the profile's: the form sends to the profile's")
	}
	if verb := c.verb(); !strings.EqualFold(verb, http.MethodPost) {
		c.out.dropped("its method %s: the form sends POST to the API", cmp.Or(verb, http.MethodGet))
	}
	if c.user != "" {
		c.out.replaced("the login of the target (%s) was left out: the form uses the profile's key", c.user)
	}
	if c.proxy != "" {
		c.out.dropped("-x: a call of the API goes through no proxy")
	}
	for _, line := range c.headers {
		name, value := header(line)
		switch http.CanonicalHeaderKey(name) {
		case "Authorization":
			c.key(value, known.Keys)
		case "Content-Type", "Accept", "User-Agent":
		default:
			c.out.dropped("its header %s: the form's headers go to the target", headerName(name))
		}
	}
	fields, err := object(body)
	if err != nil {
		return refuse("the body of the call is not a JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := c.field(name, fields[name]); err != nil {
			return err
		}
	}
	if r.URL == "" {
		return refuse("the body of the call names no url")
	}
	*r = form(*r)
	return nil
}

// object reads a JSON object whose texts may hold variables.
func object(body string) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	err := json.Unmarshal([]byte(body), &fields)
	if err == nil && fields == nil {
		err = errImport
	}
	return fields, err
}

// field takes one field of the API's body.
func (c *call) field(name string, value json.RawMessage) (err error) {
	r := &c.out.Request
	var text string
	isText := json.Unmarshal(value, &text) == nil && string(value) != "null"
	into := map[string]*string{
		"zone": (*string)(&r.Zone.Name), "url": &r.URL, "format": (*string)(&r.Format), "method": &r.Method,
		"body": &r.Body, "country": &r.Country, "session": &r.Session,
	}[name]
	switch {
	case into != nil && isText:
		*into = text
		if name == "method" && strings.EqualFold(text, http.MethodGet) {
			r.Method = ""
		}
	case name == "headers":
		var single map[string]string
		var many map[string][]string
		var lines []string
		if json.Unmarshal(value, &single) == nil {
			for name, v := range single {
				lines = append(lines, name+": "+v)
			}
		} else if json.Unmarshal(value, &many) == nil {
			for name, vs := range many {
				for _, v := range vs {
					lines = append(lines, name+": "+v)
				}
			}
		} else {
			return refuse("headers of its body are not texts")
		}
		slices.Sort(lines)
		r.Header, err = c.target(lines, false)
	case string(value) == "null":
	default:
		c.out.dropped("the field %q of its body: the form has none for it", model.Cut(model.Line(name, 40), 40))
	}
	return err
}

// key finds which key a Bearer header uses. Its value is left behind.
func (c *call) key(value string, keys []model.Key) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(value), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		c.out.replaced("its Authorization is not a Bearer key and was left out: the form uses the profile's key")
		return
	}
	name, is := soleVariable(strings.TrimSpace(token))
	if !is {
		c.out.replaced("the key in it was left out: the form uses the key it names, by reference")
		return
	}
	i := slices.IndexFunc(keys, func(k model.Key) bool { return k.Secret == "env:"+name })
	if i >= 0 {
		c.out.Request.Key = keys[i].Name
	} else if name != "ZONEDECK_API_KEY" {
		c.out.replaced("$%s is the reference of no key in the inventory: the form uses the key it names", name)
	}
}

// soleVariable is the name of the variable that a text consists of.
func soleVariable(text string) (string, bool) {
	parts := strings.Split(text, markEnv)
	if len(parts) != 3 || parts[0] != "" || parts[2] != "" {
		return "", false
	}
	return parts[1], true
}

// header takes a line apart: "Name: value", or "Name;" for an empty value.
func header(line string) (name, value string) {
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		name = strings.TrimSuffix(strings.TrimSpace(line), ";")
	}
	return strings.TrimSpace(name), strings.TrimSpace(value)
}

// has reports whether a header is given, or taken back.
func (c *call) has(name string) bool {
	return slices.ContainsFunc(c.headers, func(line string) bool {
		n, _ := header(line)
		return strings.EqualFold(n, name) && strings.ContainsAny(line, ":;") // curl sends no other
	})
}

// target gives the headers that go to the target. The value of one that is a secret by its
// nature stays behind, with a variable in its place.
func (c *call) target(lines []string, curl bool) (h http.Header, err error) {
	for _, line := range lines {
		name, value := header(line)
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case curl && !strings.Contains(line, ":") && !strings.HasSuffix(strings.TrimSpace(line), ";"):
			c.out.dropped("a header without a colon, which curl does not send")
			continue
		case !model.ValidToken(name) || !model.ValidHeaderValue(cleared(value)):
			return nil, refuse("header %s cannot be sent: its name is no word of letters, digits and hyphens, or its value holds a control character", headerName(name))
		case canonical == "Proxy-Authorization":
			if curl {
				c.proxyHeader = append(c.proxyHeader, line)
			}
			continue
		case curl && value == "" && !strings.HasSuffix(strings.TrimSpace(line), ";"):
			if canonical != "Content-Type" {
				c.out.dropped("header %s was removed: the console sends its own", headerName(name))
			}
			continue
		case canonical == "Content-Length", canonical == "Transfer-Encoding", canonical == "Connection", canonical == "Proxy-Connection", canonical == "Keep-Alive", canonical == "Te", canonical == "Upgrade", canonical == "Expect", canonical == "Trailer":
			c.out.dropped("header %s is set by the console itself", canonical)
			continue
		case canonical == "Accept-Encoding" && value != "gzip" && value != "identity":
			c.out.dropped("header Accept-Encoding: the console asks for gzip, which it inflates")
			continue
		case model.SecretName(name):
			value = c.secret(canonical, value)
		}
		if h == nil {
			h = http.Header{}
		}
		h[canonical] = append(h[canonical], value)
	}
	return h, nil
}

// headerName is a header's name if it can be one: anything may have been pasted.
func headerName(name string) string {
	if !model.ValidToken(name) || len(name) > 60 {
		return "…"
	}
	return http.CanonicalHeaderKey(name)
}

// secret is what stands for the value of a secret header: its variables, or one of its own.
func (c *call) secret(name, value string) string {
	prefix, token := "", value
	if scheme, rest, two := strings.Cut(value, " "); two && slices.Contains([]string{"bearer", "basic", "token", "apikey"}, strings.ToLower(scheme)) {
		prefix, token = scheme+" ", rest
	}
	if _, is := soleVariable(strings.TrimSpace(token)); is {
		return prefix + strings.TrimSpace(token)
	}
	variable := strings.ReplaceAll(strings.ToLower(name), "-", "_")
	if !model.VariableName(variable) {
		variable = "secret"
	}
	c.out.replaced("the value of header %s was left out: {{%s}} stands for it", name, variable)
	return prefix + markEnv + variable + markEnv
}

// form writes the variables of a request as the form does, and what looks like one such
// that it is none.
func form(r model.FetchRequest) model.FetchRequest {
	return r.MapTexts(func(_, text string) string {
		parts := strings.Split(text, markEnv)
		if len(parts)%2 == 0 { // a noncharacter that JSON or a quote wrote
			return model.WithoutVariables(strings.ReplaceAll(text, markEnv, ""))
		}
		var b strings.Builder
		for i, part := range parts {
			switch {
			case i%2 == 0:
				b.WriteString(model.WithoutVariables(part))
			case envName(part):
				b.WriteString("{{" + part + "}}")
			}
		}
		return b.String()
	})
}

// Imported is a request that was read.
type Imported struct {
	// Source says what it was: "curl, API Access".
	Source string
	// Request has only what was given: an empty zone, access method or format, a zero
	// Timeout and negative Retries mean that nothing was said. Its texts may hold variables.
	Request model.FetchRequest
	// Replaced are sentences about secrets that were left behind and what stands for them.
	// Dropped are those about what the form cannot express.
	Replaced, Dropped []string

	pipedLogin bool // a pipe gives the command the login of an export
}

// Known is what tells calls of the service from others, and keys by their references.
type Known struct {
	Profile model.Profile
	Keys    []model.Key
	// Columns says that {{name}} in a curl command is a variable, and no text.
	Columns bool
}

// errImport is wrapped by every refusal. Its texts never quote what was read.
var errImport = errors.New("it cannot be read")

// maxText bounds a pasted command, in bytes.
const maxText = 128 << 10

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errImport, fmt.Sprintf(format, args...))
}

// marks names the marks that were taken off the ends of the text.
func (i *Imported) marks(names string) {
	if names != "" {
		i.replaced("%s at the ends of what is imported was taken off", names)
	}
}

func (i *Imported) dropped(format string, args ...any) {
	i.Dropped = addOnce(i.Dropped, fmt.Sprintf(format, args...))
}

func (i *Imported) replaced(format string, args ...any) {
	i.Replaced = addOnce(i.Replaced, fmt.Sprintf(format, args...))
}

func addOnce(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// FilledFields names the fields that the request fills.
func (i Imported) FilledFields() []string {
	var out []string
	r := i.Request
	add := func(is bool, words string) {
		if is {
			out = append(out, words)
		}
	}
	add(r.Zone.Name != "", "zone "+string(r.Zone.Name))
	add(r.URL != "", "URL")
	add(r.Via != "", "via "+r.Via.String())
	add(r.Format != "", "format "+string(r.Format))
	add(r.Key != "", "key "+r.Key)
	add(r.Method != "", "method "+r.Method)
	n := 0
	for _, values := range r.Header {
		n += len(values)
	}
	add(n == 1, "1 header")
	add(n > 1, fmt.Sprintf("%d headers", n))
	add(r.Body != "", fmt.Sprintf("body of %d bytes", len(r.Body)))
	add(r.Country != "", "country "+r.Country)
	add(r.Session != "", "session "+r.Session)
	add(r.Timeout > 0, "timeout "+r.Timeout.String())
	add(r.Retries >= 0, fmt.Sprintf("%d retries", r.Retries))
	return out
}

// Summary says in one text what was taken and what was not.
func (i Imported) Summary() string {
	parts := []string{i.Source + ": " + strings.Join(i.FilledFields(), ", ") + "."}
	for _, s := range slices.Concat(i.Replaced, i.Dropped) {
		parts = append(parts, strings.ToUpper(s[:1])+s[1:]+".")
	}
	return strings.Join(parts, " ")
}

package record

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const (
	masked = "****"
	// minSecret is the length below which a value is too likely to be an ordinary word.
	minSecret = 6
	// maxHeaderText bounds one header of an entry.
	maxHeaderText = 1024
	// maxURL bounds the addresses of an entry.
	maxURL = 8192
)

// secretName reports whether the name of a header, a query parameter or a field suggests a
// secret.
func secretName(name string) bool {
	switch name { // the common headers first, for speed
	case "Accept", "Accept-Encoding", "Accept-Language", "Connection", "Content-Length", "Content-Type", "Host", "Proxy-Connection", "User-Agent":
		return false
	case "Authorization", "Proxy-Authorization", "Cookie":
		return true
	}
	if len(name) < 3 || len(name) > 64 {
		return false
	}
	name = strings.ToLower(name)
	parts := [...]string{"authorization", "auth_header", "cookie", "password", "passwd", "token", "secret", "api-key", "api_key", "apikey", "acting-key"}
	return slices.ContainsFunc(parts[:], func(part string) bool { return strings.Contains(name, part) })
}

// credentials parses the login of a request: its token or password, and the username of a
// Basic login. A login without a ":" is secret as a whole: it may be the password.
func credentials(header string) (user, secret string) {
	scheme, rest, ok := strings.Cut(header, " ")
	if !ok {
		return "", header
	}
	rest = strings.TrimSpace(rest)
	if !strings.EqualFold(scheme, "Basic") {
		return "", rest
	}
	b, err := base64.StdEncoding.DecodeString(rest)
	if err != nil {
		return "", rest
	}
	if user, secret, ok = strings.Cut(string(b), ":"); !ok {
		return "", user
	}
	return user, secret
}

// headers copies a request's headers without secrets.
func headers(h http.Header) map[string]string {
	out := make(map[string]string, len(h))
	for name, vs := range h {
		v := strings.Join(vs, ", ")
		switch {
		case secretName(name):
			v = maskedHeader(name, v)
		case name == "Referer":
			v = address(v)
		}
		out[name] = v
	}
	return out
}

// maskedHeader keeps what helps to find a mistake: the scheme of a login, the names of
// cookies.
func maskedHeader(name, v string) string {
	switch {
	case strings.Contains(strings.ToLower(name), "authorization"):
		scheme, _, ok := strings.Cut(v, " ")
		if !ok || len(scheme) > 16 {
			return masked
		}
		return scheme + " " + masked
	case strings.EqualFold(name, "Cookie"):
		parts := strings.Split(v, ";")
		for i, p := range parts {
			if cookie, _, ok := strings.Cut(p, "="); ok {
				parts[i] = cookie + "=" + masked
			} else {
				parts[i] = masked
			}
		}
		return strings.Join(parts, ";")
	default:
		return masked
	}
}

// address masks the password and the secrets in the query of a URL.
func address(u string) string {
	rest, q, found := strings.Cut(u, "?")
	if scheme, after, ok := strings.Cut(rest, "://"); ok {
		host, _, _ := strings.Cut(after, "/")
		if i := strings.LastIndexByte(host, '@'); i >= 0 {
			user, _, _ := strings.Cut(host[:i], ":")
			rest = scheme + "://" + user + ":" + masked + after[i:]
		}
	}
	if !found {
		return rest
	}
	return rest + "?" + logins(query(q))
}

// query masks the secrets in a query, or in a form's body.
func query(q string) string {
	parts := strings.Split(q, "&")
	for i, p := range parts {
		name, v, ok := strings.Cut(p, "=")
		if !ok || v == "" {
			continue
		}
		plain := name
		if strings.ContainsRune(name, '%') {
			if un, err := url.QueryUnescape(name); err == nil {
				plain = un
			}
		}
		if secretName(plain) {
			parts[i] = name + "=" + masked
		}
	}
	return strings.Join(parts, "&")
}

// without masks known secrets anywhere in a text.
func without(text string, secrets ...string) string {
	for _, s := range secrets {
		if len(s) < minSecret || len(s) > len(text) || !strings.Contains(text, s) {
			continue
		}
		text = strings.ReplaceAll(text, s, masked)
	}
	return text
}

// fields masks the values of fields in JSON whose names suggest secrets. The text may be cut,
// and need not be JSON.
func fields(text string) string {
	var out strings.Builder
	kept := 0 // what is written of text
	for i := 0; i < len(text); {
		if text[i] != '"' {
			i++
			continue
		}
		end := endOfString(text, i)
		name := text[i+1 : max(i+1, end-1)]
		i = end
		value := afterColon(text, end)
		if value < 0 || !secretName(name) {
			continue
		}
		i = endOfValue(text, value)
		if i > value {
			out.WriteString(text[kept:value])
			out.WriteString(`"` + masked + `"`)
			kept = i
		}
	}
	if kept == 0 {
		return text
	}
	return out.String() + text[kept:]
}

// endOfString returns the index after the string that begins at i.
func endOfString(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// afterColon returns the index of a field's value, or -1 if i is not the end of a field's name.
func afterColon(s string, i int) int {
	i = skipSpace(s, i)
	if i >= len(s) || s[i] != ':' {
		return -1
	}
	return skipSpace(s, i+1)
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return i
}

// endOfValue returns the index after a JSON value: a string, an array or object, or a word.
func endOfValue(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '"':
			i = endOfString(s, i)
			if depth == 0 {
				return i
			}
			continue
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth <= 0 {
				return i + depth + 1 // closes the value, or what surrounds it
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(s)
}

// logins masks the passwords of URLs anywhere in a text: clients send webhooks and targets in
// bodies, and escaped in queries.
func logins(text string) string {
	var out strings.Builder
	kept := 0 // the text up to here is written
	for i := 0; i < len(text); {
		if text[i] != ':' && text[i] != '%' {
			i++
			continue
		}
		n, escaped := afterScheme(text[i:])
		if n == 0 {
			i++
			continue
		}
		i += n
		end := endOfAuthority(text, i, escaped)
		if from, to, ok := password(text[i:end], escaped); ok {
			out.WriteString(text[kept : i+from])
			out.WriteString(masked)
			kept = i + to
		}
		i = end
	}
	if kept == 0 {
		return text
	}
	return out.String() + text[kept:]
}

// afterScheme returns the length of a "://" at the beginning of s, 0 without one, and whether
// it is escaped for a query. JSON may escape its slashes, too.
func afterScheme(s string) (n int, escaped bool) {
	const inQuery = "%3a%2f%2f"
	for _, sep := range [...]string{"://", `:\/\/`} {
		if strings.HasPrefix(s, sep) {
			return len(sep), false
		}
	}
	if len(s) >= len(inQuery) && strings.EqualFold(s[:len(inQuery)], inQuery) {
		return len(inQuery), true
	}
	return 0, false
}

// endOfAuthority returns the end of the login, host and port that begin at i.
func endOfAuthority(s string, i int, escaped bool) int {
	for ; i < len(s); i++ {
		switch c := s[i]; c {
		case '/', '?', '#', '"', '\'', '\\', '<', '>', '&', ',', '|', ' ', '\t', '\r', '\n':
			return i
		case '%':
			if !escaped || i+3 > len(s) {
				continue
			}
			switch strings.ToLower(s[i : i+3]) {
			case "%2f", "%3f", "%23", "%22", "%20", "%26", "%7c":
				return i
			}
		}
	}
	return i
}

func password(s string, escaped bool) (from, to int, ok bool) {
	to = strings.LastIndexByte(s, '@')
	if escaped {
		to = max(to, strings.LastIndex(s, "%40"))
	}
	if to < 0 {
		return 0, 0, false
	}
	for i := range to {
		switch {
		case s[i] == ':':
			return i + 1, to, i+1 < to
		case escaped && i+3 <= to && (s[i:i+3] == "%3A" || s[i:i+3] == "%3a"):
			return i + 3, to, i+3 < to
		}
	}
	return 0, 0, false
}

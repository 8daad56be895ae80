package fetch

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"zonedeck/keystore"
	"zonedeck/model"
)

// minCookie is the length from which the value of any cookie is masked, in bytes: a shorter one
// is rather a word, such as a language, than a secret.
const minCookie = 16

// typedSecrets are the secrets in a request's headers as they were typed: the values of those
// that are secrets by their names, the credential after the word of a scheme (Bearer, Basic), a
// login that is written in base64, and the cookies of a Cookie header. A target that repeats its
// request writes each of them alone, too.
func typedSecrets(h http.Header) []keystore.Secret {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if !model.SecretName(name) {
			continue
		}
		for _, v := range h[name] {
			out = append(out, v)
			if strings.EqualFold(name, "Cookie") {
				out = append(out, cookies(v)...)
				continue
			}
			if _, credential, ok := strings.Cut(v, " "); ok {
				out = append(append(out, credential), login(credential)...)
			}
		}
	}
	secrets := make([]keystore.Secret, 0, len(out))
	for _, s := range out {
		secrets = append(secrets, keystore.NewSecret(s))
	}
	return secrets
}

// login is a login in base64, and its password.
func login(credential string) []string {
	b, err := base64.StdEncoding.DecodeString(credential)
	if err != nil {
		return nil
	}
	_, password, ok := strings.Cut(string(b), ":")
	if !ok {
		return nil
	}
	return []string{string(b), password}
}

// cookies are the values of the cookies that are secrets by their names or their lengths, as they
// are sent and as they are read.
func cookies(header string) []string {
	var out []string
	for pair := range strings.SplitSeq(header, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if value = strings.Trim(value, `"`); !model.SecretName(name) && len(value) < minCookie {
			continue
		}
		out = append(out, value)
		if read, err := url.QueryUnescape(value); err == nil {
			out = append(out, read)
		}
	}
	return slices.Compact(out)
}

package model

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Bounds of an answer in JSON that says no in place of what was asked for.
const (
	maxJSONSaying = 64 << 10
	maxJSONDepth  = 5
	maxJSONLeaves = 40 // more values are data
)

// jsonFlags are keys that say no if they are true or have a text or an object, without marks between their words.
var jsonFlags = map[verdict][]string{
	challenge: {
		"captcha", "captchaurl", "captcharequired", "requirescaptcha", "requirecaptcha", "needcaptcha", "needscaptcha", "showcaptcha", "captchachallenge",
		"captchaid", "captchatoken", "recaptcharequired", "challengerequired", "challengeurl", "challenge", "botchallenge", "humanverification", "verifyhuman",
	},
	refusal: {"blocked", "isblocked", "ipblocked", "requestblocked", "blockid", "blockreason", "blockedby", "banned", "isbanned", "botdetected", "isbot", "accessdenied", "geoblocked"},
	tooFast: {"ratelimited", "isratelimited", "ratelimitexceeded", "throttled", "toomanyrequests", "quotaexceeded", "limitexceeded"},
}

// jsonCodes are what the code, the kind or the words of an error name, in lower case with single blanks.
var jsonCodes = map[verdict][]string{
	challenge: {
		"captcha", "recaptcha", "hcaptcha", "challenge", "challenge required", "human verification", "human verification required", "verification required",
		"verify human", "not human", "unusual traffic",
	},
	refusal: {
		"blocked", "block", "request blocked", "ip blocked", "access denied", "accessdenied", "forbidden", "denied", "bot", "bot detected", "bot blocked", "banned", "ip banned", "not allowed",
		"permission denied", "geo blocked", "geo restricted", "country blocked", "country not supported", "region blocked", "unavailable in your country", "unavailable for legal reasons",
		"suspicious activity", "waf", "firewall",
	},
	siteError: {
		"internal server error", "internalservererror", "internal error", "internalerror", "server error", "bad gateway", "service unavailable", "serviceunavailable", "gateway timeout",
		"not found", "no such key", "nosuchkey",
	},
	tooFast: {
		"too many api calls", "api freq out of limit", "throttling user", "throttling api", "frequency limit", "too frequent", "rate exceeded", "daily quota exceeded", "secondary rate limit",
		"rate limit", "ratelimit", "rate limited", "ratelimited", "rate limit exceeded", "rate limit reached", "ratelimitexceeded", "over rate limit", "too many requests", "toomanyrequests",
		"throttled", "throttling", "throttlingexception", "request throttled", "requests throttled", "quota", "quota exceeded", "quotaexceeded", "over quota", "limit exceeded", "over limit", "request limit exceeded",
		"resource exhausted", "slow down", "slowdown", "max requests exceeded", "usage limit exceeded", "daily limit exceeded",
	},
}

// What the keys of an error are called: codeKeys name it by a code, wordKeys also in a sentence; errorKeys hold it or say
// that there is one. Both kinds count beside an error alone where they are not inside one.
var (
	codeKeys  = []string{"code", "errorcode", "errcode", "errorkey", "errortype", "errorname", "type", "reason", "status", "statuscode", "httpcode", "httpstatus", "name", "result", "decision", "action", "class", "category", "exception"}
	wordKeys  = []string{"message", "msg", "errormessage", "errormsg", "errmsg", "detail", "details", "description", "errordescription", "title", "statustext", "statusmessage", "faultstring", "text", "info"}
	errorKeys = []string{"error", "errors", "err", "fault", "failure", "problem", "extensions", "meta", "response"}
)

// jsonSays decides what an answer in JSON says that is no data: in a key or a code of its own, or of its error.
func (s *scan) jsonSays() {
	if len(s.body) > maxJSONSaying || s.cut {
		return
	}
	var value any
	if json.Unmarshal(trimStart(s.body), &value) != nil {
		return
	}
	object, ok := value.(map[string]any)
	if !ok || leaves(object, 0) > maxJSONLeaves {
		return
	}
	j := jsonWalk{found: map[verdict]string{}}
	j.object(object, isError(object), 0)
	for _, v := range []verdict{challenge, tooFast, refusal, siteError} {
		text, ok := j.found[v]
		if !ok {
			continue
		}
		m := mark{text: text, place: "the JSON", name: saying{verdict: v}.about()}
		if at := bytes.Index(s.body, []byte(text)); at >= 0 {
			m.offset, m.length = at, len(text)
		}
		s.shape.byWords = true
		s.decide(v, m)
		return
	}
}

// leaves counts the values of an answer, without those of its errors.
func leaves(value any, depth int) (n int) {
	switch v := value.(type) {
	case map[string]any:
		for k, inner := range v {
			if depth > 0 || !slices.Contains(errorKeys, letters(k)) {
				n += leaves(inner, depth+1)
			}
		}
	case []any:
		for _, inner := range v {
			n += leaves(inner, depth+1)
		}
	default:
		return 1
	}
	return n
}

// flagged reports whether the value of a flag says yes: not a list, which is data.
func flagged(value any) bool {
	_, list := value.([]any)
	return !list && truthy(value)
}

// beside are keys that stand beside a flag in an answer that says nothing else.
var beside = []string{
	"url", "id", "ref", "reference", "referenceid", "requestid", "rayid", "incidentid", "eventid", "uuid", "vid", "token", "message", "msg", "detail", "appid", "jsclientsrc", "firstpartyenabled",
	"hosturl", "blockscript", "altblockscript", "customlogo", "retryafter", "redirect", "redirecturl", "sitekey", "status", "code", "type", "support", "reason",
}

// alone reports whether an answer has nothing but flags and what stands beside them.
func alone(object map[string]any) bool {
	for key := range object {
		name := letters(key)
		flag := slices.Contains(jsonFlags[challenge], name) || slices.Contains(jsonFlags[refusal], name) || slices.Contains(jsonFlags[tooFast], name)
		if !flag && !slices.Contains(beside, name) {
			return false
		}
	}
	return true
}

// isError reports whether an object says that it is an error: by a flag, by an error in it, by a status, or because it has
// nothing but words, which neither speak of success nor describe a thing with a name.
func isError(object map[string]any) bool {
	wordy, fine := false, false
	for k, v := range object {
		name := letters(k)
		text, _ := v.(string)
		switch status, number := v.(float64); {
		case (name == "success" || name == "ok" || name == "succeeded") && v == false,
			name != "meta" && name != "response" && slices.Contains(errorKeys, name) && truthy(v),
			(name == "status" || name == "statuscode" || name == "code" || name == "errorcode") && number && (status >= 400 && status < 600 || status < 0),
			name == "status" && (text == "0" || text == "error" || text == "fail" || text == "failed" || text == "ERROR"):
			return true
		case (name == "success" || name == "ok" || name == "succeeded") && v == true, name == "status" && (text == "success" || text == "ok"), name == "title", name == "name":
			fine = true
		case slices.Contains(wordKeys, name) && name != "description" && truthy(v):
			wordy = true
		}
	}
	return wordy && !fine && len(object) <= 3
}

// jsonWalk looks through the objects of an answer for what they say.
type jsonWalk struct{ found map[verdict]string }

func (j *jsonWalk) object(object map[string]any, wrong bool, depth int) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		name, value := letters(key), object[key]
		for v, names := range jsonFlags {
			if slices.Contains(names, name) && flagged(value) && (wrong || alone(object)) {
				j.note(v, key)
			}
		}
		if wrong && (name != "title" || said(object)) {
			j.code(name, value)
		}
		_, nested := value.(map[string]any)
		if holds := slices.Contains(errorKeys, name) || wrong && nested && slices.Contains(wordKeys, name); holds && depth < maxJSONDepth {
			j.inside(value, wrong || name != "meta" && name != "response", depth+1)
		}
	}
}

// said reports whether an error has more than a title, as it has by RFC 9457 and JSON:API.
func said(object map[string]any) bool {
	for key := range object {
		switch letters(key) {
		case "status", "code", "detail", "type":
			return true
		}
	}
	return false
}

// inside looks through what an error holds: an object, several, or its code.
func (j *jsonWalk) inside(value any, wrong bool, depth int) {
	switch v := value.(type) {
	case map[string]any:
		j.object(v, wrong || isError(v), depth)
	case []any:
		for _, each := range v[:min(len(v), 10)] {
			j.inside(each, wrong, depth)
		}
	case string:
		j.text(v, true)
	}
}

// code reads a value of an error.
func (j *jsonWalk) code(name string, value any) {
	code, word := slices.Contains(codeKeys, name), slices.Contains(wordKeys, name)
	switch v := value.(type) {
	case float64:
		switch {
		case code && v == 429:
			j.note(tooFast, "429")
		case code && (v == 403 || v == 451):
			j.note(refusal, strconv.Itoa(int(v)))
		case code && v >= 500 && v < 600:
			j.note(siteError, strconv.Itoa(int(v)))
		}
	case string:
		if code || word {
			j.text(v, word)
		}
	}
}

// text reads a code, or a sentence of an error.
func (j *jsonWalk) text(text string, sentence bool) {
	words := strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
	words = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(words, "err "), " error"))
	words = strings.TrimPrefix(words, "error ")
	if !strings.Contains(words, " ") || len(words) <= 40 {
		if slices.ContainsFunc(strings.Fields(words), func(w string) bool { return strings.HasSuffix(w, "captcha") }) {
			j.note(challenge, text)
		}
	}
	for v, codes := range jsonCodes {
		if slices.Contains(codes, words) || words == "429" && v == tooFast || words == "403" && v == refusal {
			j.note(v, text)
		}
	}
	if !sentence || len(text) > littleText {
		return
	}
	lower := plain([]byte(text))
	if s, ok := titleSays(lower, true); ok && s.verdict != waiting {
		j.note(s.verdict, text)
	}
	for _, s := range readSayings().within(lower) {
		if s.verdict != waiting {
			j.note(s.verdict, text)
		}
	}
}

func (j *jsonWalk) note(v verdict, text string) {
	if _, ok := j.found[v]; !ok {
		j.found[v] = Cut(text, maxQuote/2)
	}
}

// truthy reports whether a flag is set.
func truthy(value any) bool {
	switch v := value.(type) {
	case bool:
		return v
	case string:
		low := strings.ToLower(strings.TrimSpace(v))
		return low != "" && low != "false" && low != "0" && low != "no" && low != "none" && low != "null"
	case float64:
		return v != 0
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	default:
		return false
	}
}

// letters is a key in lower case, without what stands between its words.
func letters(key string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, key)
}

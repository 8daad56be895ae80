package model

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// WallSigns are what a program that is no console can know a wall by: a few patterns of the signs in challenge.go. They mean
// the same in Go, Python and JavaScript where case does not count, have no quotes in them, and their first group is what tells.
// What may stand between two parts is bounded, for the languages whose patterns go back: see maxScan for how much of a page
// they are for.
type WallSigns struct {
	// Alone are signs in markup that stand on challenge pages only, Script one in the text of a script.
	Alone  []string
	Script string
	// Title and Widget together are a wall, unless there is a Field to fill in.
	Title, Widget, Field string
	// Header is looked for in the lines of a header, each after a line break and as "name: value": a defence's own, or a
	// redirect to where a defence leads.
	Header string
	// Unread is what is not looked at, and ScriptText what is not looked at for signs in markup: the first group stays.
	Unread, ScriptText string
}

// KnownWallSigns are the signs of the tables.
func KnownWallSigns() WallSigns {
	address := func(tag string) string {
		return `<` + tag + `\s[^<>]*(?:src|action)=[^<>\s]{0,500}(` + alternatives(addressMarks, tag, `[^<>]{0,200}`) + `)`
	}
	header := strings.ReplaceAll(literal(challengeHeaders...), ":", ": ")
	return WallSigns{
		Alone: []string{
			`<[a-z][^<>]*\s(?:id|class)=(?:[^=<>]*[^\w<>-])?(` + decidingWords() + `)[^\w-]`,
			address("script"), address("iframe"), address("form"),
		},
		Script:     `<script(?:\s(?:nonce|defer|async|type=\W?(?:text/javascript|module))[^<>]*)?>[^<]*(` + alternatives(scriptMarks, "", `[^<]{0,900}`) + `)`,
		Title:      `<title[^<>]*>(?:[^<]*\s[^\w\s]+\s)?\s*(` + literal(commonTitles...) + `)[^\w<]*(?:<|\s[^\w\s]+\s)`,
		Widget:     `<[a-z][^<>]*\s(?:id|class)=[^=<>]{0,200}?([\w-]{0,40}(?:` + literal(loaders...) + `))`,
		Field:      `<(?:textarea|select)\b|<input\b[^<>]*\stype=\W?(?:text|email|password|search|tel|number)\b`,
		Header:     `\n(` + header + `|location: [^\n?]*(?:` + ledAddresses() + `))`,
		Unread:     `(<script\b[^<>]*>[\s\S]*?(?:</script|$))|<style\b[\s\S]*?(?:</style|$)|<!--(?:-?>|[\s\S]*?(?:-->|$))|<textarea[\s\S]*?(?:</textarea>|$)`,
		ScriptText: `(<script\b[^<>]*>)[\s\S]*?(?:</script|$)`,
	}
}

// literal are texts as alternatives of a pattern.
func literal(texts ...string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(strings.Join(texts, "\n")), "\n", "|")
}

// decidingWords are the classes and ids that decide alone.
func decidingWords() string {
	words := slices.Sorted(maps.Keys(elementMarks))
	return literal(slices.DeleteFunc(words, func(text string) bool { return elementMarks[text].strength != decides })...)
}

// alternatives are the marks of a tag that decide alone; gap is what may stand between their parts.
func alternatives(marks []partMark, tag, gap string) string {
	var out []string
	for _, m := range marks {
		if m.strength == decides && m.without == "" && (tag == "" || slices.Contains(m.tags, tag)) {
			out = append(out, strings.ReplaceAll(literal(m.parts...), "|", gap))
		}
	}
	return strings.Join(out, "|")
}

// ledAddresses are the addresses to which a defence leads.
func ledAddresses() string {
	var out []string
	for _, a := range challengeAddresses {
		pattern := literal(a.host) + `[^\n?]*` + literal(a.path)
		if a.query != "" {
			pattern = `\?[^\n]*` + literal(a.query)
		}
		out = append(out, strings.TrimPrefix(strings.TrimSuffix(pattern, `[^\n?]*`), `[^\n?]*`))
	}
	return strings.Join(out, "|")
}

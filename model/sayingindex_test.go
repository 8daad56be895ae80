package model

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTheIndexFindsTheTextsThatATextHolds(t *testing.T) {
	all := readSayings()
	pieces := []string{"", " ", ".", "a", "é", "error code: ", "访问"}
	for _, s := range all.texts {
		if len(s.text) <= startLength {
			t.Errorf("%q is too short for the index", s.text)
		}
		pieces = append(pieces, s.text, s.text[:len(s.text)-1], s.text[1:])
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "")
		var want []saying
		for _, s := range all.texts {
			if strings.Contains(text, s.text) {
				want = append(want, s)
			}
		}
		if got := all.within(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
		for _, s := range all.texts {
			if strings.HasPrefix(text, s.text) && len(s.text) >= shortestOpening && len(s.text)*3 >= len(text) && s.verdict != challenge {
				if got, ok := all.opening(text); !ok || got != s {
					t.Errorf("%q opens with %v, want %v", text, got, s)
				}
				return
			}
		}
		if got, ok := all.opening(text); ok {
			t.Errorf("%q opens with %v", text, got)
		}
	})
}

func TestATextWithoutACodeIsKnownQuickly(t *testing.T) {
	pieces := []string{"error", "err", "http", " ", ":", "/", "#", "(", ")", "404", "503", "200", "4", "1404", "not found", "-", "é", "."}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6).Draw(t, "pieces"), "")
		if matches := codeFirst().MatchString(text) || codeLast().MatchString(text); matches && !mayHaveCode(text) {
			t.Errorf("%q has a code", text)
		}
	})
}

package ui_test

import (
	"fmt"
	"testing"

	"zonedeck/ui/kit"
)

func TestADialogThatHidesKeysLeadsToHelp(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, _, _ := newApp(t.Context())
		s := start(t, app)
		plain := &box{extra: []kit.Binding{
			{Keys: []string{"j"}, Label: "down", Help: "Move one row down.", Group: "Move", Hidden: true},
			{Keys: []string{"1"}, Label: "a line of a menu", Hidden: true},
		}}
		s.Send(kit.Open{Overlay: plain})
		s.Expect("x do · esc close")
		s.ExpectNot("? help")
		s.Press("esc")
		hiding := &box{extra: []kit.Binding{{Keys: []string{"/"}, Label: "filter", Help: "Show less.", Group: "Filter", Hidden: true}}}
		s.Send(kit.Open{Overlay: hiding})
		s.Expect("x do · esc close · ? help")
		s.Press("?")
		s.Expect("Show less.")
	})
}

func TestHelpKeepsItsPlaceInTheStatusLine(t *testing.T) {
	flow(t, func(t *testing.T) {
		var many []kit.Binding
		for i := range 7 {
			many = append(many, kit.Binding{Keys: []string{fmt.Sprintf("f%d", i+1)}, Label: "a long hint", Intent: hello{i}})
		}
		app, _, _ := newApp(t.Context(), append(many, kit.Binding{Keys: []string{"esc"}, Label: "back", Intent: hello{7}})...)
		s := start(t, app)
		s.Expect("F1 a long hint · esc back", "· ? help", "0 running")
		s.Resize(kit.MinWidth, kit.MinHeight)
		s.Expect("F1 a long hint · esc back · F2 a long hint · ? help")
		s.ExpectNot("0 running") // the keys are said first
	})
}

package model

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Options are what a product adds to a fetch, as the text of its field. The zero value
// asks for nothing. How they are sent is a dialect's: the contract shows none of them.
type Options struct {
	// Query is what a search looks for, by the engine; the target's address follows from
	// these, the page, which counts from 1, and the country. Parsed is "true" for the results
	// as JSON, empty for the engine's page.
	Query, Engine, Page, Parsed string
	// Render is "true" where the page's scripts are to run. WaitFor is a CSS selector, or a
	// text behind "text:", that a complete page holds.
	Render, WaitFor string
}

// Option is one field of Options: what form, flags, saved files and rules know of it.
type Option struct {
	// Name is the field's name in problems and saved files; a flag has "-" for "_".
	Name string
	// Product has it. A search is different: any zone fetches its address, since that
	// says everything.
	Product Product
	Label   string
	// Choices are the values there are, the default first; nil for any text. A Switch is
	// "true" or empty.
	Choices     []string
	Switch      bool
	Placeholder string
	Help        string

	check func(string) error
}

// The names of the options.
const (
	OptionQuery   = "query"
	OptionEngine  = "engine"
	OptionPage    = "page"
	OptionParsed  = "parsed"
	OptionRender  = "render"
	OptionWaitFor = "wait_for"
)

var options = []Option{
	{
		Name: OptionQuery, Product: ProductSERP, Label: "Query", Placeholder: "words to search for",
		Help: "The URL is made from it; type a URL to search another way.",
	},
	{
		Name: OptionEngine, Product: ProductSERP, Label: "Engine", Choices: []string{"google", "bing", "duckduckgo", "yandex"},
		Help: "The engine to search with.",
	},
	{
		Name: OptionPage, Product: ProductSERP, Label: "Page", Placeholder: "1",
		Help:  "The page of the results, from 1.",
		check: checkPage,
	},
	{
		Name: OptionParsed, Product: ProductSERP, Label: "Parsed", Switch: true, Placeholder: "the results as JSON",
		Help: "The results as JSON; without it, the engine's page as it is.",
	},
	{
		Name: OptionRender, Product: ProductUnlocker, Label: "Render", Switch: true, Placeholder: "run the page's scripts",
		Help: "Load the page in a browser and run its scripts before it is returned.",
	},
	{
		Name: OptionWaitFor, Product: ProductUnlocker, Label: "Wait for", Placeholder: "a CSS selector, or text:words",
		Help:  "A page without it counts as incomplete: a CSS selector such as .price, or words, as in text:In stock.",
		check: checkWaitFor,
	},
}

// AllOptions lists every option, in the order of the form.
func AllOptions() []Option { return slices.Clone(options) }

// Options lists what the product adds to a fetch, in the order of the form.
func (p Product) Options() []Option {
	return slices.DeleteFunc(AllOptions(), func(o Option) bool { return o.Product != p })
}

// at is where an option's value stands.
func (all *Options) at(name string) *string {
	switch name {
	case OptionQuery:
		return &all.Query
	case OptionEngine:
		return &all.Engine
	case OptionPage:
		return &all.Page
	case OptionParsed:
		return &all.Parsed
	case OptionRender:
		return &all.Render
	default:
		return &all.WaitFor
	}
}

// Search reports whether the option is part of a search.
func (o Option) Search() bool { return o.Product == ProductSERP }

// Flag is the option's name on a command line.
func (o Option) Flag() string { return strings.ReplaceAll(o.Name, "_", "-") }

// Value is the option's value in all, without spaces around it.
func (o Option) Value(all Options) string { return strings.TrimSpace(*all.at(o.Name)) }

// Or is the option's value in all or, for a choice without one, its default.
func (o Option) Or(all Options) string {
	if v := o.Value(all); v != "" || o.Choices == nil {
		return v
	}
	return o.Choices[0]
}

// Set puts a value into all.
func (o Option) Set(all *Options, value string) { *all.at(o.Name) = strings.TrimSpace(value) }

// Bare is the value of the option's flag without one: that of a switch, or "".
func (o Option) Bare() string {
	if o.Switch {
		return "true"
	}
	return ""
}

// Check says why the option's value in all cannot stand, or nil.
func (o Option) Check(all Options) error { return o.problem(o.Value(all)) }

// Only is all without the options of other products than p.
func (all Options) Only(p Product) Options {
	var out Options
	for _, o := range p.Options() {
		o.Set(&out, o.Value(all))
	}
	return out
}

// problem says why the value cannot stand, or nil.
func (o Option) problem(value string) error {
	switch {
	case value == "":
		return nil
	case o.Switch && value != "true":
		return fmt.Errorf("%q: write true, or nothing", Cut(value, 20))
	case o.Choices != nil && !slices.Contains(o.Choices, value):
		return fmt.Errorf("%q is not one of %s", Cut(value, 20), strings.Join(o.Choices, ", "))
	case Line(value, maxOption) != value:
		return fmt.Errorf("write one line of at most %d bytes", maxOption)
	case o.check != nil:
		return o.check(value)
	default:
		return nil
	}
}

// maxOption bounds the text of one option, in bytes.
const maxOption = 2000

// MaxPage bounds the page of a search.
const MaxPage = 1000

func checkPage(s string) error {
	if n, err := strconv.Atoi(s); err != nil || n < 1 || n > MaxPage {
		return fmt.Errorf("%q: write a number from 1 to %d", Cut(s, 20), MaxPage)
	}
	return nil
}

func checkWaitFor(s string) error {
	if text, ok := strings.CutPrefix(s, WaitForText); ok && strings.TrimSpace(text) == "" {
		return errors.New("write words behind the colon")
	}
	return nil
}

// WaitForText begins an Options.WaitFor that is a text, not a selector.
const WaitForText = "text:"

// optionProblems is what is wrong with the options as such.
func (r FetchRequest) optionProblems() problems {
	var ps problems
	for _, o := range options {
		value := o.Value(r.Options)
		ps.add(o.Name, o.problem(value))
		if p := r.Zone.Product; value != "" && !o.Search() && p != o.Product && p != ProductUnknown && r.Via != ViaAgent {
			ps.add(o.Name, fmt.Errorf("%s zones have it; zone %s is of product %s", o.Product, r.Zone.Name, p))
		}
	}
	return ps
}

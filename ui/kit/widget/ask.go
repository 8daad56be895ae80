package widget

import (
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/service/ask"
	"zonedeck/ui/kit"
)

// Asking is how the questions of a use case are asked in one dialog.
type Asking struct {
	Title string
	// Body is what the operator decides by; empty means the texts of the questions.
	Body string
	// Yes is the label for going ahead.
	Yes       string
	Questions []ask.Question
	// Then gives the message to send with the answers. They are nil where an answer that is typed or chosen was refused; a
	// no to what wants a yes sends nothing.
	Then func(ask.Answers) tea.Msg
}

// askForm is a form of answers, which esc refuses.
type askForm struct {
	dialog *FormDialog
	asking Asking
}

// askNo refuses to answer.
type askNo struct{}

func (a askForm) Extra() []kit.Binding {
	return []kit.Binding{{Name: "question.no", Keys: []string{"esc"}, Label: "no", Help: "Answer nothing.", Intent: askNo{}, WhileTyping: true}}
}

func (a askForm) Handle(msg tea.Msg) (tea.Cmd, bool) {
	if _, no := msg.(askNo); no {
		return a.end(nil), true
	}
	return nil, false
}

func (a askForm) Settled(*Form) {}

func (a askForm) Filled() bool { return false }

func (a askForm) end(given ask.Answers) tea.Cmd {
	return tea.Sequence(kit.CloseOverlay(a.dialog), kit.Send(a.asking.Then(given)))
}

// Ask opens the dialog: a question where every answer is a yes, a form where one is typed or chosen.
func Ask(t *kit.Theme, a Asking) tea.Cmd { return kit.OpenOverlay(NewAsk(t, a)) }

// NewAsk makes the dialog without opening it.
func NewAsk(t *kit.Theme, a Asking) kit.Overlay {
	if a.Body == "" {
		texts := make([]string, len(a.Questions))
		for i, q := range a.Questions {
			texts[i] = Sentence(q.Text)
		}
		a.Body = strings.Join(texts, "\n")
	}
	var fields []Field
	for _, q := range a.Questions {
		if f, ok := answerField(q); ok {
			fields = append(fields, f)
		}
	}
	if len(fields) == 0 {
		given := ask.Answers{}
		for _, q := range a.Questions {
			given.With(q, ask.Agreed)
		}
		return NewConfirm(t, ConfirmSpec{Title: a.Title, Body: a.Body, Yes: a.Yes, Intent: a.Then(given)})
	}
	d := NewFormDialog(t, a.Title, NewForm(t, fields...))
	d.Intro, d.Submit = a.Body, a.Yes
	owner := askForm{d, a}
	d.Owner = owner
	d.OnSubmit = func(f *Form) tea.Cmd {
		given := ask.Answers{}
		for _, q := range a.Questions {
			given.With(q, answerOf(q, f))
		}
		return owner.end(given)
	}
	return d
}

// answerField is the field that a question is answered in; ok is false for one that wants a yes.
func answerField(q ask.Question) (f Field, ok bool) {
	f = Field{Name: string(q.Kind) + " " + q.About, Label: "Answer", Check: Required("it has to be answered")}
	switch q.Want {
	case ask.Secret:
		f.Label, f.Secret = "Secret", true
	case ask.Reason:
		f.Label = "Reason"
	default:
		return f, false
	}
	return f, true
}

func answerOf(q ask.Question, f *Form) ask.Answer {
	field, typed := answerField(q)
	if !typed {
		return ask.Agreed
	}
	value := f.Value(field.Name)
	if q.Want == ask.Secret {
		return ask.Answer{Secret: keystore.NewSecret(value)}
	}
	return ask.Answer{Text: value}
}

// Sentence is a clause with a full stop and a capital, unless it begins with a job.
func Sentence(clause string) string {
	if strings.HasPrefix(clause, "job-") {
		return clause + "."
	}
	first, size := utf8.DecodeRuneInString(clause)
	return string(unicode.ToUpper(first)) + clause[size:] + "."
}

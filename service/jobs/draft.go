package jobs

import (
	"context"
	"errors"
	"io"
	"time"

	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/catalogue"
)

// Draft is a job as it is wanted, before anything is known about it.
type Draft struct {
	// Dataset is the identifier of a data set, or one of its names. From are the inputs.
	Dataset string
	From    Input
	// Sample takes the first good rows only, 0 takes all. OnlyUnlaunched leaves out what jobs of the last hour have.
	Sample         int
	OnlyUnlaunched bool
	// Rejects is the file for the bad rows, "" for a new one in the downloads folder. SaveList saves all good rows as a new
	// list of that name, "" saves none.
	Rejects, SaveList string
	// Key is the name of a key, "" for the profile's.
	Key      string
	Settings model.JobSettings
	// InboxAuth sends along what the inbox checks, if webhooks come to it alone and Settings.Auth names nothing.
	InboxAuth bool
	MaxCost   float64
	// Preview is for a preview alone: what matters to a launch alone is not looked at. Wait is for a launch whose end is
	// waited for: it needs a service that can be asked how the job stands.
	Preview, Wait bool
	// Once is model.TriggerRequest's.
	Once string
	// Repeats is the job of the ledger in whose place it is launched with changes, or empty.
	Repeats string
}

// Input is where the inputs of a Draft come from: Rows, List, Again or Given.
type Input interface{ input() }

type (
	// Rows are read from a source whose kind rows.Read knows. Name is what messages call it; Map gives columns of a table
	// the name of a field (see rows.Shape).
	Rows struct {
		Reader     io.Reader
		Kind, Name string
		Map        map[string]string
	}
	// SavedList is a saved list.
	SavedList struct {
		Name string
		Map  map[string]string
	}
	// Again repeats a job of the ledger with its data set, settings and key, which a Draft's Key and MaxCost replace. Missing
	// takes only the inputs that gave nothing or an error.
	Again struct {
		Job     string
		Missing bool
	}
	// ReadyInputs are inputs that were made by the caller for a data set that is sent as it is named.
	ReadyInputs []model.JobInput
)

func (Rows) input()        {}
func (SavedList) input()   {}
func (Again) input()       {}
func (ReadyInputs) input() {}

// Report is what a Draft comes to. Questions have to be answered before it is launched; it is launched as it stands.
type Report struct {
	// Request is what is sent. Without inputs there is nothing to launch: every input of the repeated job gave data.
	Request model.TriggerRequest
	// Rows are what was read from the source called Source, zero for Again and Given.
	Rows   Inputs
	Source string
	// Estimate is what the job is expected to cost, Before what was launched within the last hour with its inputs.
	Estimate Estimate
	Before   Before
	// LeftOut are the jobs of the last hour whose inputs are not launched, and how many good rows that leaves out.
	LeftOut LeftOut
	// Unlaunched is the job without what jobs of the last hour have, where that is a choice.
	Unlaunched *Checked
	// Repeated is the job of Again, Missing what of it gave no data.
	Repeated  model.Job
	Missing   Missing
	Notes     []ask.Note
	Questions []ask.Question

	draft Draft
}

// LeftOut is what a job leaves out because earlier jobs have it.
type LeftOut struct {
	Inputs int // of the Good rows
	Good   int
	Jobs   []Overlap
	// Unknown are the jobs that may have any of the good rows.
	Unknown []model.Job
}

// Facts say, the newest first, which jobs have what is left out.
func (l LeftOut) Facts() []ask.Fact { return overlapFacts(l.Jobs, l.Good) }

// Checked is a Report with the error that Check gives beside it.
type Checked struct {
	Report

	Err error
}

// Before are the jobs of the last hour, or not over, that have inputs of a Report, each newest first.
type Before struct {
	// SameInputs have all of them and no others, the job that is repeated included.
	SameInputs []model.Job
	// Overlapping have some of them, or may.
	Overlapping EarlierJobs
}

// Launched is a job that was launched, and what was kept before it was.
type Launched struct {
	Job   model.Job
	Notes []ask.Note
}

// ErrNoGoodRow says that every row of a source is bad.
var ErrNoGoodRow = errors.New("none is good")

// KeepError says that what had to be kept before a launch cannot be: nothing was sent.
type KeepError struct {
	// IsList says that it is the list Path, otherwise it is the bad rows.
	IsList bool
	Path   string
	Err    error
}

func (e *KeepError) Error() string {
	if e.IsList {
		return "the list could not be saved, so nothing was sent: " + e.Err.Error()
	}
	return "the bad rows could not be kept, so nothing was sent: " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *KeepError) Unwrap() error { return e.Err }

// Machine reads and writes the ledger and calls the service: a Runner.
type Machine interface {
	Estimate(ctx context.Context, r model.TriggerRequest) (Estimate, error)
	SameInputs(ctx context.Context, r model.TriggerRequest, within time.Duration) ([]model.Job, error)
	SharedInputs(ctx context.Context, r model.TriggerRequest, within time.Duration) (EarlierJobs, error)
	Trigger(ctx context.Context, r model.TriggerRequest) (model.Job, error)
	Recover(ctx context.Context) ([]model.Job, error)
	Job(ctx context.Context, id string) (model.Job, error)
	Once(ctx context.Context, name string) (model.Job, error)
	Request(ctx context.Context, id string) (model.TriggerRequest, error)
	Missing(ctx context.Context, id string) (Missing, error)
}

// Unsettled are the jobs that may have started: a Settler.
type Unsettled interface {
	Candidates(ctx context.Context, id string) ([]Candidate, error)
	Claim(ctx context.Context, id, snapshot string, sure bool) (model.Job, error)
	NotStarted(ctx context.Context, id string) (model.Job, error)
	AwaitWebhook(ctx context.Context, id string) (model.Job, error)
}

// Keys judges the key of a launch.
type Keys interface {
	// May gives what has to be answered before a key launches a job. Its error refuses the key. What only a person can
	// open stays locked.
	May(ctx context.Context, key string) ([]ask.Question, error)
	// Admit records the reason to launch with an ADMIN key.
	Admit(ctx context.Context, key, reason string) error
}

// Inbox gives addresses that webhooks come to.
type Inbox interface {
	// NewAddress is an address for one job. warning says why the service may not reach it.
	NewAddress(ctx context.Context) (address, warning string, err error)
	// Authorization is the reference of what the inbox checks the Authorization header by, "" for nothing.
	Authorization() string
}

// Catalogue finds data sets; see service/catalogue.
type Catalogue interface {
	Dataset(ctx context.Context, key, name string) (model.Dataset, catalogue.Listing, error)
}

// Profile gives the profile in use.
type Profile interface {
	Profile(ctx context.Context) (model.Profile, error)
}

// LaunchConfig is what a Launching needs; all of it is required.
type LaunchConfig struct {
	Machine    Machine
	Settler    Unsettled
	Profile    Profile
	Catalogue  Catalogue
	Keys       Keys
	Inbox      Inbox
	InputLists InputLists
}

// Launching checks drafts, launches them, and settles jobs that may have started. It is safe for concurrent use.
type Launching struct{ cfg LaunchConfig }

// NewLaunching makes a Launching. It does no I/O.
func NewLaunching(c LaunchConfig) *Launching { return &Launching{c} }

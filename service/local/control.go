package local

import "zonedeck/service/rehearsal"

// What the emulator's control interface gives and takes; see rehearsal.
type (
	Control = rehearsal.Client
	Fault   = rehearsal.Fault
	Rule    = rehearsal.Rule
	Preset  = rehearsal.Preset
	Request = rehearsal.Request
	Page    = rehearsal.Page
)

// Rehearse is a client of the control interface, whichever process has it.
func (e *Emulator) Rehearse() *Control { return rehearsal.New(e.Control) }

// Presets are faults that are worth rehearsing.
func Presets() []Preset { return rehearsal.Presets() }

// Points are where a fault can be.
func Points() []string { return rehearsal.Points() }

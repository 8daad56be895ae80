package local

import "zonedeck/service/rehearsal"

// What the emulator's control interface gives and takes; see rehearsal.
type (
	// Control speaks to one emulator.
	Control = rehearsal.Client
	// Fault is a rule that the emulator holds.
	Fault = rehearsal.Fault
	// Rule is a fault to add.
	Rule = rehearsal.Rule
	// Preset is a fault that is often wanted.
	Preset = rehearsal.Preset
	// Request is one request that the emulator saw, and how it ended.
	Request = rehearsal.Request
	// Page is a part of the emulator's journal, oldest first.
	Page = rehearsal.Page
)

// Rehearse is a client of the control interface, whichever process has it.
func (e *Emulator) Rehearse() *Control { return rehearsal.New(e.Control) }

// Presets are faults that are worth rehearsing.
func Presets() []Preset { return rehearsal.Presets() }

// Points are where a fault can be.
func Points() []string { return rehearsal.Points() }

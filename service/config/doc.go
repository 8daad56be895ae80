// Package config knows where the console keeps its files and reads the profiles
// of config.toml: which service, which account, which zones, which key.
//
// ui/cli finds the paths and the profile and applies flags and environment
// (Override); service and the views receive a Profile as a value. Secrets appear
// as references only, checked here for their form.
//
// Everything is a value or a pure function but Load, AddProfile and Ensure, which
// touch the disk; AddProfile locks the file. All of it is safe for concurrent use.
package config

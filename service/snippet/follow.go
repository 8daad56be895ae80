package snippet

import "fmt"

// Follow is a systemd unit that follows the jobs of a profile, or of the default one where
// Profile is empty. It uses Program, Config and Profile alone.
func Follow(o Options) string {
	name, command := "zonedeck-jobs.service", o.command(unitWord)
	return fmt.Sprintf(`# ~/.config/systemd/user/%[1]s
# systemctl --user enable --now %[1]s; loginctl enable-linger has it run while nobody is logged in.
# A key that is an env: reference comes from Environment= or EnvironmentFile= of a drop-in.
[Unit]
Description=Follows the jobs of zonedeck
After=network-online.target

[Service]
Type=exec
ExecStart=%[2]s jobs follow
Restart=on-failure
RestartSec=30

[Install]
WantedBy=default.target
`, name, command)
}

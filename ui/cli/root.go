package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zonedeck/model"
)

// execute parses the arguments and runs the command they name.
func (a *app) execute(ctx context.Context) error {
	root := a.rootCommand()
	root.SetArgs(a.Args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		a.printError(err)
	}
	return err
}

// printError prints an error on stderr, once. An exitError without a cause has
// already been printed.
func (a *app) printError(err error) {
	var e *exitError
	if errors.As(err, &e) && e.cause == nil {
		return
	}
	if errors.Is(err, context.Canceled) {
		a.tell("zonedeck: interrupted\n")
		return
	}
	a.warn("%s", err)
	if refused := (*model.ReadOnlyError)(nil); errors.As(err, &refused) {
		a.tell("To lift that: 'zonedeck profiles edit %s --read-only=false'; to use another profile: --profile NAME.\n", refused.Profile)
	}
	if e != nil && e.help != "" {
		a.tell("Try '%s --help'.\n", e.help)
	}
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "zonedeck",
		Short: "Operations console for a web-data-collection service",
		Long: `zonedeck is an operations console for a web-data-collection service. It tests
zones, shows which keys are due for rotation, launches dataset jobs, and tries
out fetches before you automate them.

Without a command it opens the console. Without a configuration it runs on an
embedded emulator of the service, with a demo account and a demo key.

A message that names the contract (contract 5.2) means that section of the service's
documentation. A dialect is how a profile follows what is publicly known beyond it.`,
		Example: `
# open the console on the embedded emulator
zonedeck

# one fetch through a zone, as JSON
zonedeck request http://lab.test/ok --zone unlocker_demo --json

# which keys are due within two weeks
zonedeck keys check --within 14d    # exit 40, 41 or 42 where something is due`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		Version: version,
		// Errors are printed by execute, once.
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			asked := cmd.Flags().Lookup("json")
			a.json = asked != nil && asked.Value.String() == "true"
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runConsole(cmd.Context()) },
	}
	pf := root.PersistentFlags()
	pf.StringVar(&a.flags.profile, "profile", "", "profile of the config file to use (or ZONEDECK_PROFILE)")
	pf.StringVar(&a.flags.config, "config", "", "config file, or - for standard input (or ZONEDECK_CONFIG; default: see 'zonedeck paths')")
	pf.StringVar(&a.flags.baseURL, "base-url", "", "base address of the API (or ZONEDECK_BASE_URL)")
	pf.StringVar(&a.flags.proxyHost, "proxy-host", "", "proxy host, or host:port")
	pf.StringVar(&a.flags.database, "database", "", "PostgreSQL database that has batches, jobs and webhooks, as postgres://NAME@HOST/DATABASE or a reference such as env:NAME (or ZONEDECK_DATABASE, or database of the profile; default: this machine)")
	pf.StringArrayVar(&a.flags.allowKeys, "allow-key", nil, "let a key of another account be sent, as NAME=ADDRESS: the key, and the API base address that it may go to (local: the embedded emulator)")
	pf.BoolVar(&a.flags.noInput, "no-input", false, "never ask anything; fail where an answer is needed")
	pf.BoolVar(&a.flags.quiet, "quiet", false, "print only errors and failures on stderr")
	for name, kind := range map[string]string{"profile": "profile", "config": "file", "base-url": "", "proxy-host": "", "database": "", "allow-key": ""} {
		a.completeFlag(root, name, kind)
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if _, named := errors.AsType[*pflag.InvalidValueError](err); named {
			return usage("%w", err)
		}
		if unknown, is := errors.AsType[*pflag.NotExistError](err); is && len(unknown.GetSpecifiedName()) > 1 {
			var known []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
			err = fmt.Errorf("%w%s", err, didYouMean("--", unknown.GetSpecifiedName(), known))
		}
		return misspelt(cmd, err)
	})
	root.AddCommand(a.commands()...)
	a.addHelp(root)
	return root
}

func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.requestCommand(),
		a.compareCommand(),
		a.savedCommand(),
		a.harCommand(),
		a.exportCommand(),
		a.batchCommand(),
		a.workerCommand(),
		a.diagnoseCommand(),
		a.rulesCommand(),
		group("jobs", "Launch, follow, list and download jobs of data sets",
			a.jobsLaunchCommand(), a.jobsWatchCommand(), a.jobsFollowCommand(), a.jobsListCommand(), a.jobsShowCommand(), a.jobsDownloadCommand(),
			a.jobsRowsCommand(), a.jobsCancelCommand(), a.jobsAdoptCommand(), a.jobsSettleCommand(), a.jobsRelaunchCommand()),
		group("webhook", "Receive webhooks, and look at those that were received",
			a.webhookListenCommand(), a.webhookListCommand(), a.webhookShowCommand(), a.webhookMarkCommand(), a.webhookReplayCommand()),
		group("drift", "Watch the fields of data sets and targets for changes",
			a.driftListCommand(), a.driftShowCommand(), a.driftCheckCommand(), a.driftAcceptCommand(), a.driftContractCommand()),
		group("datasets", "List the data sets that jobs can be started for, and show their inputs",
			a.datasetsListCommand(), a.datasetsShowCommand()),
		group("proxy", "Make and test the logins of native access",
			a.proxyURLCommand(), a.proxyTestCommand()),
		group("profiles", "Add, edit, remove and check profiles",
			a.profilesListCommand(), a.profilesAddCommand(), a.profilesEditCommand(), a.profilesRemoveCommand(), a.profilesCheckCommand()),
		group("secrets", "List, set, remove and move secrets, and lock the encrypted files",
			a.secretsListCommand(), a.secretsSetCommand(), a.secretsRemoveCommand(), a.secretsMigrateCommand(), a.secretsProtectCommand()),
		group("zones", "List the zones of a profile, show one as the account has it, replace its password, and measure what zones cost",
			a.zonesListCommand(), a.zonesShowCommand(), a.zonesPasswordCommand(), a.zonesRatesCommand()),
		a.accountCommand(),
		a.scheduleCommand(),
		group("keys", "List, check, rotate, import and export keys",
			a.keysListCommand(), a.keysCheckCommand(), a.keysLintCommand(), a.keysUsesCommand(), a.keysRotateCommand(), a.keysImportCommand(), a.keysExportCommand()),
		a.mcpCommand(),
		a.emulateCommand(),
		a.pathsCommand(),
		a.versionCommand(),
		a.completionCommand(),
		a.manCommand(),
	}
}

// firstOf is the argument, or "" without one.
func firstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// group is a command with subcommands only.
func group(use, short string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return misspelt(cmd, fmt.Errorf("%s needs a command: %s", cmd.CommandPath(), strings.Join(childNames(cmd), ", ")))
			}
			return unknownCommand(cmd, args[0])
		},
	}
	cmd.AddCommand(children...)
	return cmd
}

func childNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

// warn prints a problem that does not stop the command on stderr, even with --quiet.
func (a *app) warn(format string, args ...any) {
	a.tell("zonedeck: "+format+"\n", args...)
}

// verdict prints how the command went on stderr: with --quiet only a failure.
func (a *app) verdict(code int, line string) {
	if code == exitOK {
		a.say("zonedeck: %s", line)
	} else {
		a.warn("%s", line)
	}
}

// say prints a message on stderr, unless --quiet is given.
func (a *app) say(format string, args ...any) {
	if !a.flags.quiet {
		a.tell(format+"\n", args...)
	}
}

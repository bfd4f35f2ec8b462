package reference

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// Shells are the shells that Complete knows.
const (
	Bash = "bash"
	Zsh  = "zsh"
	Fish = "fish"
)

// Complete writes a script with which a shell completes commands, flags and the values of flags.
func Complete(w io.Writer, app *kong.Node, shell string) error {
	var out strings.Builder
	switch shell {
	case Bash:
		writeBash(&out, app)
	case Zsh:
		out.WriteString("#compdef " + app.Name + "\nautoload -U +X bashcompinit && bashcompinit\n")
		writeBash(&out, app)
		// In a folder of $fpath, zsh runs the script as the function of the first completion.
		fmt.Fprintf(&out, "if [[ ${funcstack[1]} = _%[1]s ]]; then _bash_complete -o default -F _%[1]s; fi\n", app.Name)
	case Fish:
		writeFish(&out, app)
	default:
		return fmt.Errorf("no completion for the shell %q", shell)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// writeBash writes a function that first finds the command before the cursor, then offers the values of the flag
// before the cursor, or else subcommands and flags. For bash, the = of --flag=value is a word of its own.
func writeBash(out *strings.Builder, app *kong.Node) {
	var knownFlags, values, words strings.Builder
	for _, c := range commands(app) {
		path := strings.Join(c.words, " ")
		if path != "" {
			fmt.Fprintf(&knownFlags, "      %q) command=%q ;;\n", " "+path, " "+path)
		}
		for _, f := range flags(c.Node) {
			switch options := choices(f.Value); {
			case len(options) > 0:
				fmt.Fprintf(&values, "    *%q) COMPREPLY=($(compgen -W %q -- \"$cur\")); return ;;\n",
					" --"+f.Name, strings.Join(options, " "))
			case isPath(f.Value):
				fmt.Fprintf(&values, "    *%q) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", " --"+f.Name)
			case !f.IsBool():
				fmt.Fprintf(&values, "    *%q) return ;;\n", " --"+f.Name)
			}
		}
		options := append(names(c.Node), flagNames(c.Node)...)
		if path != "" {
			for _, f := range flags(app) {
				if Inherits(c.Node, f) {
					options = append(options, "--"+f.Name)
				}
			}
		}
		for _, a := range c.Positional {
			options = append(options, choices(a)...)
		}
		key := ""
		if path != "" {
			key = " " + path
		}
		fmt.Fprintf(&words, "    %q) words=%q ;;\n", key, strings.Join(options, " "))
	}
	fmt.Fprintf(out, `_%[1]s() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= words= i
  [[ $cur == "=" ]] && cur=
  [[ $prev == "=" ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${COMP_WORDS[i]}" in
%[2]s    esac
  done
  case "$command $prev" in
%[3]s  esac
  case "$command" in
%[4]s  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _%[1]s %[1]s
`, app.Name, knownFlags.String(), unique(values.String()), words.String())
}

// unique drops repeated lines: flags of the same name that accept the same values.
func unique(lines string) string {
	seen := map[string]bool{}
	var out strings.Builder
	for line := range strings.Lines(lines) {
		if !seen[line] {
			seen[line] = true
			out.WriteString(line)
		}
	}
	return out.String()
}

func names(n *kong.Node) (all []string) {
	for _, child := range visible(n) {
		all = append(all, child.Name)
	}
	return all
}

func flagNames(n *kong.Node) (all []string) {
	for _, f := range flags(n) {
		all = append(all, "--"+f.Name)
	}
	return all
}

// writeFish writes a function that prints the command before the cursor, and one line for each command and each flag.
// It looks for the command as the function for bash does: events is a command, and so is payments events.
func writeFish(out *strings.Builder, app *kong.Node) {
	var knownFlags strings.Builder
	for _, c := range commands(app) {
		if len(c.words) > 0 {
			fmt.Fprintf(&knownFlags, " %s", quoteFish(" "+strings.Join(c.words, " ")))
		}
	}
	fmt.Fprintf(out, `function __%[1]s_command
  set -l found ''
  for word in (commandline -opc)[2..-1]
    if contains -- "$found $word"%[2]s
      set found "$found $word"
    end
  end
  echo "$found"
end
complete -c %[1]s -f
`, app.Name, knownFlags.String())
	for _, c := range commands(app) {
		path := strings.TrimSuffix(" "+strings.Join(c.words, " "), " ")
		condition := fmt.Sprintf("test (__%s_command) = %s", app.Name, quoteFish(path))
		for _, child := range visible(c.Node) {
			fmt.Fprintf(out, "complete -c %s -n %s -a %s -d %s\n", app.Name, quoteFish(condition), child.Name,
				quoteFish(child.Help))
		}
		for _, f := range flags(c.Node) {
			if len(c.words) == 0 {
				condition = fishInherits(app, f)
			}
			value := ""
			switch options := choices(f.Value); {
			case len(options) > 0:
				value = " -x -a " + quoteFish(strings.Join(options, " "))
			case isPath(f.Value):
				value = " -r -F"
			case !f.IsBool():
				value = " -x"
			}
			fmt.Fprintf(out, "complete -c %s -n %s -l %s%s -d %s\n", app.Name, quoteFish(condition), f.Name, value,
				quoteFish(f.Help))
		}
		for _, a := range c.Positional {
			if options := choices(a); len(options) > 0 {
				fmt.Fprintf(out, "complete -c %s -n %s -a %s\n", app.Name, quoteFish(condition),
					quoteFish(strings.Join(options, " ")))
			} else if isPath(a) {
				fmt.Fprintf(out, "complete -c %s -n %s -F\n", app.Name, quoteFish(condition))
			}
		}
	}
}

// fishInherits returns the condition that the command before the cursor knows a flag of the program.
func fishInherits(app *kong.Node, f *kong.Flag) string {
	var others strings.Builder
	for _, c := range commands(app) {
		if len(c.words) > 0 && !Inherits(c.Node, f) {
			fmt.Fprintf(&others, " %s", quoteFish(" "+strings.Join(c.words, " ")))
		}
	}
	if others.Len() == 0 {
		return "true"
	}
	return fmt.Sprintf("not contains -- (__%s_command)%s", app.Name, others.String())
}

// quoteFish quotes a text in single quotes.
func quoteFish(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

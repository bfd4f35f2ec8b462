package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// TestShellsCompleteCommands lets each shell load the script of atrium completion, and complete a command line as it
// does for a person.
func TestShellsCompleteCommands(t *testing.T) {
	t.Parallel()
	d := deploy(t, sqlite)
	for shell, modeCase := range map[string]struct {
		file string // of the script
		run  string // prints what is offered for the line $2 with the script in the folder $1; $3 is the last one
	}{
		"bash": {"atrium", `source "$1/atrium"
			read -ra COMP_WORDS <<<"$2"
			if [[ $2 == *' ' ]]; then COMP_WORDS+=(''); fi
			COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
			$(complete -p atrium | sed 's/.*-F \([^ ]*\).*/\1/')
			printf '%s\n' "${COMPREPLY[@]}"`},
		"fish": {"atrium.fish", `source $argv[1]/atrium.fish; complete -C "$argv[2]" | cut -f1`},
		// A terminal, because zsh completes only while it edits a line.
		"zsh": {"_atrium", `zmodload zsh/zpty
			zpty shell zsh -f -i
			zpty -w shell "PS1=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=0; echo re''ady"
			zpty -r -m shell loaded '*ready*'
			zpty -w -n shell "$2"$'\t\t'
			repeat 300; do
				zpty -r -t shell piece && out+=$piece
				[[ $out == *$3* ]] && break
				sleep 0.1
			done
			print -r -- $out
			zpty -d shell`},
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			program, folder := services.Shell(t, shell), t.TempDir()
			script := d.must(t, "completion", shell)
			require.NoError(t, os.WriteFile(filepath.Join(folder, modeCase.file), []byte(script), 0o600))
			for line, want := range map[string][]string{
				"atrium payments ":        {"events", "resume", "sandbox"},
				"atrium payments events ": {"list", "replay"},
				"atrium prompts list --":  {"--folder", "--json", "--tag"},
				"atrium completion ":      {"bash", "fish", "zsh"},
			} {
				ctx, cancel := context.WithTimeout(t.Context(), proof.Patience)
				defer cancel()
				args := []string{"-c", modeCase.run, shell, folder, line, want[len(want)-1]}
				if shell == "fish" { // it has no $0
					args = []string{"--no-config", "-c", modeCase.run, folder, line}
				}
				c := exec.CommandContext(ctx, program, args...)
				c.Env = append(os.Environ(), "TERM=xterm", "HOME="+folder)
				c.WaitDelay = time.Second
				out, err := c.CombinedOutput()
				if err != nil {
					t.Fatalf("%q: %v: %s", line, err, out)
				}
				offeredTexts := strings.FieldsFunc(string(out), func(r rune) bool {
					return r != '-' && (r < 'a' || r > 'z')
				})
				for _, w := range want {
					if !slices.Contains(offeredTexts, w) {
						t.Errorf("%q: %s is not offered: %q", line, w, out)
					}
				}
			}
		})
	}
}

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"

	"github.com/atrium-hq/atrium/test/support/require"
)

// onAnOldKernel is the argument that makes this test binary run the following command as on a kernel with neither
// Landlock nor seccomp filters.
const onAnOldKernel = "on-an-old-kernel"

func init() {
	if len(os.Args) < 3 || os.Args[1] != onAnOldKernel {
		return
	}
	err := seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: seccomp.Policy{
		DefaultAction: seccomp.ActionAllow,
		Syscalls: []seccomp.SyscallGroup{{
			Action: seccomp.Action(unix.SECCOMP_RET_ERRNO) | seccomp.Action(unix.ENOSYS),
			Names:  []string{"seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"},
		}},
	}})
	if err == nil {
		err = syscall.Exec(os.Args[2], os.Args[2:], os.Environ())
	}
	fmt.Println(err)
	os.Exit(1)
}

// aged makes a command run as on an old kernel.
func aged(cmd *exec.Cmd) *exec.Cmd {
	cmd.Args = append([]string{os.Args[0], onAnOldKernel, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = os.Args[0]
	return cmd
}

// TestTheServersMemoryIsClosed checks that the kernel gives the files of a server's process to root. It does so with
// processes that are not dumpable: other processes of their user can neither trace nor read them.
func TestTheServersMemoryIsClosed(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"serve", "work"} {
		t.Run(command, func(t *testing.T) {
			d := deployMigrated(t, sqlite)
			process := d.command(command)
			if os.Getuid() == 0 { // whose own files say nothing
				const other = 65534
				process = d.copyFor(t, other, command)
			}
			s := d.spawn(t, process)
			s.stderr.await(t, s, regexp.MustCompile(`"msg":"(serving|working)"`))
			info, err := os.Stat(fmt.Sprintf("/proc/%d/mem", s.process.Process.Pid))
			require.NoError(t, err)
			if owner := info.Sys().(*syscall.Stat_t).Uid; owner != 0 {
				t.Errorf("the memory of %s belongs to user %d", command, owner)
			}
			s.stop(t)
		})
	}
}

// copyFor returns a command that runs as another user, who gets a folder with data and a copy of the program.
func (d *deployment) copyFor(t *testing.T, uid int, args ...string) *exec.Cmd {
	t.Helper()
	folder, err := os.MkdirTemp("", "closed-") // t.TempDir is in a folder that others cannot enter
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	text, err := os.ReadFile(binary)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "atrium"), text, 0o700)
	}
	for _, name := range []string{folder, filepath.Join(folder, "atrium")} {
		err = errors.Join(err, os.Chown(name, uid, uid))
	}
	require.NoError(t, err)
	set("data", filepath.Join(folder, "data"))(d)
	command := func(args ...string) *exec.Cmd {
		process := exec.Command(filepath.Join(folder, "atrium"), args...)
		process.Dir, process.Env = folder, d.env
		process.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		return process
	}
	if out, err := command("migrate").CombinedOutput(); err != nil { // work needs data
		t.Fatalf("migrate: %v\n%s", err, out)
	}
	return command(args...)
}

func TestAKernelWithoutConfinement(t *testing.T) {
	t.Parallel()
	if !seccomp.Supported() {
		t.Log("this kernel has no filters by which another one could be played: it is itself what is tested")
	}
	const lacks = "Landlock for TCP"

	t.Run("best-effort confinement serves, and logs once what is missing", func(t *testing.T) {
		d := deployMigrated(t, sqlite)
		s := d.spawn(t, aged(d.command("serve", "--addr", "127.0.0.1:0")))
		s.stdout.await(t, s, greeting)
		s.stop(t)
		if n := strings.Count(s.stderr.String(), lacks); n != 1 {
			t.Errorf("it is said %d times", n)
		}
	})
	t.Run("strict confinement refuses to serve", func(t *testing.T) {
		d := deploy(t, sqlite, set("children.confine", "strict"))
		out, err := aged(d.command("serve", "--addr", "127.0.0.1:0")).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "children.confine is strict") ||
			!strings.Contains(string(out), lacks) {
			t.Errorf("%s, %v", out, err)
		}
		if _, err := os.Stat(d.data); !os.IsNotExist(err) {
			t.Errorf("there is a data directory: %v", err)
		}
	})
	for confine, want := range map[string]string{"best_effort": "WARNING children ", "strict": "FAILED  children "} {
		t.Run("doctor warns or fails: "+confine, func(t *testing.T) {
			d := deployMigrated(t, sqlite, set("children.confine", confine))
			out, err := aged(d.command("doctor")).Output()
			if !strings.Contains(string(out), want) || !strings.Contains(string(out), lacks) ||
				(err != nil) != (confine == "strict") {
				t.Errorf("%s, %v", out, err)
			}
		})
	}
}

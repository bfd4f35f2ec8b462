package confine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elastic/go-seccomp-bpf"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// serverMode is the argument that makes this binary a server whose child is hostile; what follows says how.
const serverMode = "a-server"

// hostileJobs are the jobs that attack. A child serves them beside the others.
func hostileJobs() map[string]confine.Job {
	needs := func(network bool) func(json.RawMessage) ports.JobNeeds {
		return func(in json.RawMessage) ports.JobNeeds {
			var w world
			if err := json.Unmarshal(in, &w); err != nil {
				panic(err)
			}
			n := ports.JobNeeds{Folders: []string{w.at("warehouses")}, Network: network}
			if network {
				n.Ports = []uint16{w.Open}
			}
			return n
		}
	}
	return map[string]confine.Job{
		"attack offline": {Do: attack, Needs: needs(false)},
		"attack online":  {Do: attack, Needs: needs(true)},
		"outlive":        {Do: outlive},
	}
}

// attack makes every attempt and returns what came of each, "" where it succeeded.
func attack(_ context.Context, in json.RawMessage) (any, error) {
	var w world
	if err := json.Unmarshal(in, &w); err != nil {
		return nil, err
	}
	arrivals := map[string]outcome{}
	for _, a := range attemptsOf(w.Network) {
		var o outcome
		if err := a.try(w); err != nil {
			o = outcome{Error: err.Error(), Refused: refused(err)}
		}
		arrivals[a.name] = o
	}
	return arrivals, nil
}

func attemptsOf(network bool) (all []attempt) {
	for _, a := range attempts {
		if network || !a.whole {
			all = append(all, a)
		}
	}
	if !network {
		all = append(all, offline...)
	}
	return all
}

// outcome is what came of an attempt.
type outcome struct {
	Error   string // "" if it succeeded
	Refused bool
}

// outlive ignores every signal, starts a process that would live on where it can, and never returns.
func outlive(context.Context, json.RawMessage) (any, error) {
	signal.Ignore()
	_, _ = os.StartProcess("/bin/sleep", []string{sleeper(os.Getppid()), "600"},
		&os.ProcAttr{Files: []*os.File{nil, os.Stdout}})
	select {}
}

// sleeper is the name of what the child of a server starts.
func sleeper(server int) string { return "sleeper-of-" + strconv.Itoa(server) }

// sleepers returns the processes of a sleeper's name.
func sleepers(t *testing.T, server int) (found []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, path := range all {
		if line, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(line), sleeper(server)+"\x00") {
			found = append(found, path)
		}
	}
	return found
}

// server is the process that hostile code would like to own. It does one job and prints the answer.
func server(arguments []string) {
	check := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	kernel, job, folder := arguments[0], arguments[1], arguments[2]
	if kernel == "old" {
		check(forget())
	}
	check(confine.Hide())
	listen := func() (net.Listener, uint16) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		check(err)
		return l, uint16(l.Addr().(*net.TCPAddr).Port)
	}
	open, allowance := listen()
	closedListener, mayNot := listen()
	defer open.Close()
	defer closedListener.Close()
	r, err := confine.New(confine.DefaultLimits(), 1, os.Args[0], childMode)
	check(err)
	defer r.Close()
	w := world{Data: folder, Parent: os.Getpid(), Open: allowance, Closed: mayNot, Network: job == "attack online"}
	report := serverReport{Missing: confine.Missing()}
	limit := 10 * time.Second
	if job == "outlive" {
		limit = time.Second
	}
	if err := r.Run(context.Background(), "wsp_1", job, limit, w, &report.Came); err != nil {
		report.Error = err.Error()
	}
	check(json.NewEncoder(os.Stdout).Encode(report))
	_, _ = os.Stdin.Read(make([]byte, 1)) // it lives until the test has looked
}

type serverReport struct {
	Came    map[string]outcome
	Error   string
	Missing []string
}

// forget makes the kernel refuse the system calls of Landlock and seccomp, as if it supported neither.
func forget() error {
	empty := seccomp.Action(unix.SECCOMP_RET_ERRNO) | seccomp.Action(unix.ENOSYS)
	return seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: seccomp.Policy{
		DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{{Action: empty, Names: []string{
			"seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
		}}},
	}})
}

// serve starts a server on a new data directory and returns its report. It ends with the test.
func serve(t *testing.T, uid uint32, kernel, job string) (serverReport, *os.Process, string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "confine-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	for _, name := range []string{"warehouses", "sheets", "empty"} {
		require.NoError(t, os.Mkdir(filepath.Join(folder, name), 0o700))
	}
	for _, name := range []string{"keyring.json", "atrium.db", "warehouses/mine.db", "sheets/theirs.csv"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("c4n4ry"), 0o600))
	}
	require.NoError(t, os.Symlink("../keyring.json", filepath.Join(folder, "warehouses/link.db")))
	text, err := os.ReadFile(program)
	require.NoError(t, err)
	copiedPath := filepath.Join(folder, "program")
	require.NoError(t, os.WriteFile(copiedPath, text, 0o700)) // another user may not read the test's
	require.NoError(t, filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(uid), int(uid))
	}))
	cmd := exec.Command(copiedPath, serverMode, kernel, job, folder)
	cmd.Dir, cmd.Env, cmd.Stderr = "/", []string{"SECRET=c4n4ry"}, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid,
		NoSetGroups: os.Getuid() != 0}}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		rest, _ := io.ReadAll(out)
		t.Fatalf("the server says %q%q, %v", line, rest, err)
	}
	var report serverReport
	if err := json.Unmarshal([]byte(line), &report); err != nil {
		t.Fatalf("the server says %q", line)
	}
	return report, cmd.Process, folder
}

// users are those that servers run as: this one, and one without rights where we may become that.
func users() map[string]uint32 {
	all := map[string]uint32{"uid " + strconv.Itoa(os.Getuid()): uint32(os.Getuid())}
	if os.Getuid() == 0 {
		all["uid 65534"] = 65534
	}
	return all
}

// lacking returns the parts of the confinement that this kernel does not have.
func lacking() map[string]bool {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		abi = 0
	}
	return map[string]bool{partFiles: abi < 1, partTCP: abi < 4, partFilter: !seccomp.Supported()}
}

// TestHostileCodeIsRefusedEverything has a real child of a real server attack it. Each attempt is listed with its
// refusal (-v).
func TestHostileCodeIsRefusedEverything(t *testing.T) {
	lacks := lacking()
	for part, ok := range lacks {
		if ok {
			t.Logf("this kernel has no %s: what it would refuse is not tested here", part)
		}
	}
	for user, uid := range users() {
		for _, job := range []string{"attack offline", "attack online"} {
			t.Run(user+"/"+job, func(t *testing.T) {
				report, parent, folder := serve(t, uid, "present", job)
				if report.Error != "" {
					t.Fatal(report.Error)
				}
				if len(report.Missing) > 0 != (lacks[partFiles] || lacks[partTCP] || lacks[partFilter]) {
					t.Errorf("missing: %q, but lacking %v", report.Missing, lacks)
				}
				refusals := 0
				for _, a := range attemptsOf(job == "attack online") {
					o, isNew := report.Came[a.name]
					switch {
					case !isNew:
						t.Errorf("%s: not tried", a.name)
					case a.part == partNothing && o.Error != "":
						t.Errorf("%s: %s, though it may", a.name, o.Error)
					case a.part == partNothing:
						t.Logf("%-45s may", a.name)
					case lacks[a.part]:
						t.Logf("%-45s not refused by this kernel: %q", a.name, o.Error)
					case !o.Refused:
						t.Errorf("%s: not refused (%q)", a.name, o.Error)
					default:
						refusals++
						t.Logf("%-45s refused: %s", a.name, o.Error)
					}
				}
				if refusals < 30 && !lacks[partFilter] {
					t.Errorf("only %d attempts were refused", refusals)
				}
				t.Logf("%d attempts, %d refused", len(report.Came), refusals)
				if !lacks[partFilter] {
					untouched(t, folder)
				}
				require.NoError(t, parent.Signal(syscall.Signal(0)))
			})
		}
	}
}

// untouched checks that the data directory is as serve made it.
func untouched(t *testing.T, folder string) {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprint(strings.TrimPrefix(path, folder), " ", info.Mode())
		if d.Type().IsRegular() && d.Name() != "program" {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += " " + string(text)
		}
		found = append(found, line)
		return nil
	}))
	const want = ` drwx------
/atrium.db -rw------- c4n4ry
/empty drwx------
/keyring.json -rw------- c4n4ry
/program -rwx------
/sheets drwx------
/sheets/theirs.csv -rw------- c4n4ry
/warehouses drwx------
/warehouses/link.db Lrwxrwxrwx
/warehouses/mine.db -rw------- c4n4ry`
	assert.Equal(t, "the data directory is now", strings.Join(found, "\n"), want)
}

// TestWithoutConfinementTheAttemptsSucceed runs the same on a kernel that knows neither Landlock nor filters: else the
// attempts would be refused for some other reason. The server says what it lacks.
func TestWithoutConfinementTheAttemptsSucceed(t *testing.T) {
	if lacking()[partFilter] {
		t.Log("this kernel has no filters, so that nothing can be kept from a test: the other test has shown what " +
			"happens")
		return
	}
	report, _, _ := serve(t, uint32(os.Getuid()), "old", "attack online")
	if report.Error != "" || len(report.Missing) != 3 {
		t.Fatalf("%q, missing %q", report.Error, report.Missing)
	}
	for _, name := range []string{
		"read the key file", "read the database", "read the parent's arguments", "read /etc/passwd",
		"write to the database",
		"delete the database", "rename the key file", "chmod", "make a folder", "make a hard link", "start a process",
		"signal the parent",
		"512 MiB of shared memory", "512 MiB of a stack", "memory that is a program", "a file in memory",
		"System V shared memory",
		"listen on all addresses", "bind to loopback", "connect past the guard", "Unix sockets", "netlink",
		"a pair of sockets",
	} {
		if o := report.Came[name]; o.Refused {
			t.Errorf("%s: %s", name, o.Error)
		}
	}
	for _, name := range []string{"512 MiB of memory", "read the parent's memory", "trace the parent",
		"read the parent's memory by a call"} {
		if o := report.Came[name]; !o.Refused && os.Getuid() != 0 {
			t.Errorf("%s: not refused, with confinement or without", name)
		}
	}
}

// TestNothingOutlivesAJob has a child ignore its end, with the confinement and without it.
func TestNothingOutlivesAJob(t *testing.T) {
	for _, kernel := range []string{"present", "old"} {
		t.Run(kernel, func(t *testing.T) {
			report, parent, _ := serve(t, uint32(os.Getuid()), kernel, "outlive")
			assert.Equal(t, "error", report.Error, ports.ErrJobTimeout.Error())
			proof.Await(t, "nothing lives on", func() []string { return sleepers(t, parent.Pid) },
				func(rest []string) bool { return len(rest) == 0 })
		})
	}
}

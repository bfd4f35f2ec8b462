package services

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/atrium-hq/atrium/test/support/proof"
)

// Server is one that this package started.
type Server struct {
	URL string // of its own database, such as postgres, as superuser

	held   *os.File // the server lives until the other end of this pipe reads its end
	keeper *exec.Cmd
}

// Stop ends the server at once, without a last checkpoint, and waits until it and its folder
// are gone.
func (s *Server) Stop() {
	s.held.Close()
	_ = s.keeper.Wait() // an ended server is what was asked for, whatever its exit code
}

// keep runs a server, by the functions that stand before it: prepare makes the server's data in
// $folder, serve becomes the server, and $end is the signal that ends it at once. The server ends
// with the standard input, which does so with the process that started it, however that came to end.
// The folder goes when the server does, or when there is none to keep: that is how start notices.
const keep = `
folder=$1 port=$2
shift 2
exec 3<&0
prepare "$@" && {
	serve "$@" 3<&- &
	server=$!
	{ read -r _ <&3; kill -$end $server; } &
	watch=$!
	wait $server
	kill $watch
}
cd /
rm -rf "$folder"
`

// patience is how long a server may take to start, to stop or for a statement, on a machine that is busy with tests.
const patience = 4 * time.Minute

// program is a server that can be started.
type program struct {
	name   string
	script string                                      // see keep
	args   []string                                    // of prepare and serve
	files  map[string]string                           // put into the folder before
	url    func(port int) string                       // of the server once it answers
	ready  func(ctx context.Context, url string) error // whether it does
	port   int                                         // to be had if it is free; 0 for any
}

// postgresScript keeps PostgreSQL. Collation is ICU's English one on purpose: where code relies on
// the order of bytes, a database in the C locale would hide that.
const postgresScript = `
end=QUIT
prepare() {
	"$1/initdb" -D "$folder/data" -U postgres -A trust --no-sync -E UTF8 --locale=C.UTF-8 \
		--locale-provider=icu --icu-locale=en-US
}
serve() {
	bin=$1
	shift
	exec "$bin/postgres" -D "$folder/data" -k "$folder" -h 127.0.0.1 -p "$port" -c max_connections=300 \
		-c fsync=off -c full_page_writes=off -c synchronous_commit=off "$@"
}
`

// StartPostgres starts a server on a port of 127.0.0.1 that was free, with a new cluster in a
// temporary folder, and returns once it answers, after about a second. It stops with Stop, or soon after the calling
// process ends, even by SIGKILL. Nobody is asked for a password.
//
// For the first that runs on a machine the port is always the same: the URL is in the environment of
// tests, and go test answers from its cache only where that is as it was.
func StartPostgres() (*Server, error) {
	p, err := postgresProgram(nil, nil)
	if err != nil {
		return nil, err
	}
	if first() != nil {
		p.port = usualPort
	}
	return p.start()
}

const usualPort = 24329

// first is a listener below usualPort, which only one process can have until it ends: that one may have
// usualPort. It is nil for all others.
var first = sync.OnceValue(func() net.Listener {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(usualPort-1)))
	if err != nil {
		return nil
	}
	return l
})

// StartPostgresWith is StartPostgres with settings of the test's own, and files beside the cluster
// that settings can name by their path: a certificate, its key, a pg_hba.conf. @ at the start of a
// setting's value stands for the folder of the files, as in {"hba_file": "@/hba"}. The superuser
// postgres must be let in from 127.0.0.1 without a password and without TLS.
func StartPostgresWith(settings, files map[string]string) (*Server, error) {
	p, err := postgresProgram(settings, files)
	if err != nil {
		return nil, err
	}
	return p.start()
}

func postgresProgram(settings, files map[string]string) (program, error) {
	bin, err := postgresBin()
	if err != nil {
		return program{}, err
	}
	p := program{
		name: "postgres", script: postgresScript, args: []string{bin}, files: files,
		url: func(port int) string {
			return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
		},
		ready: answers,
	}
	for name, value := range settings {
		p.args = append(p.args, "-c", name+"="+value)
	}
	return p, nil
}

// start starts the program on a port of 127.0.0.1 that was free, and returns once it answers. @/ in
// an argument after the = stands for the folder.
func (p program) start() (*Server, error) {
	// Between choosing a free port and listening on it, another process may take it.
	var failures []error
	for range 3 {
		server, err := p.tryStart()
		if err == nil {
			return server, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

func (p program) tryStart() (*Server, error) {
	folder, err := os.MkdirTemp(memory(), p.name+"-")
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*Server, error) {
		os.RemoveAll(folder)
		return nil, err
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return fail(err)
	}
	defer log.Close()
	port := p.port
	if port == 0 || !isFree(port) {
		if port, err = FreePort(); err != nil {
			return fail(err)
		}
	}
	wait, hold, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	defer wait.Close()
	keeper := exec.Command("sh", "-c", p.script+keep, p.name, folder, strconv.Itoa(port))
	for _, arg := range p.args {
		keeper.Args = append(keeper.Args, strings.Replace(arg, "=@/", "="+folder+"/", 1))
	}
	keeper.Dir, keeper.Stdin, keeper.Stdout, keeper.Stderr = folder, wait, log, log
	// In a process group of its own, the keeper does not receive Ctrl-C, so it still removes the folder.
	keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 { // databases refuse to run as root
		if keeper.SysProcAttr.Credential, err = unprivileged(); err == nil {
			err = os.Chown(folder, int(keeper.SysProcAttr.Credential.Uid), int(keeper.SysProcAttr.Credential.Gid))
		}
		if err != nil {
			return fail(err)
		}
	}
	for name, text := range p.files {
		path := filepath.Join(folder, name)
		err := os.WriteFile(path, []byte(text), 0o600) // PostgreSQL refuses a key that others can read
		if c := keeper.SysProcAttr.Credential; err == nil && c != nil {
			err = os.Chown(path, int(c.Uid), int(c.Gid))
		}
		if err != nil {
			return fail(err)
		}
	}
	if err := keeper.Start(); err != nil {
		hold.Close()
		return fail(err)
	}
	server := &Server{URL: p.url(port), held: hold, keeper: keeper}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	proof.Poll(ctx, func() bool {
		if err = p.ready(ctx, server.URL); err == nil {
			return true
		}
		_, failure := os.Stat(folder)
		return errors.Is(failure, fs.ErrNotExist) // keep has given up
	})
	if err != nil {
		server.Stop()
		return nil, fmt.Errorf("start %s: %w\n%s", p.name, err, tail(log))
	}
	return server, nil
}

// memory returns Linux's file system in memory if it has room, else nothing, which stands for
// the usual temporary folder: a database consists of a thousand files, and on a busy disk it
// takes ten times as long to make one.
func memory() string {
	const folder, room = "/dev/shm", 2 << 30 // bytes; a database takes 8 MB and lives as long as its test
	var stat syscall.Statfs_t
	if err := syscall.Statfs(folder, &stat); err != nil || stat.Bavail*uint64(stat.Bsize) < room {
		return ""
	}
	return folder
}

// tail returns the end of a log, which may be removed already.
func tail(log *os.File) string {
	const most = 2000
	size, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	text := make([]byte, min(size, most))
	n, _ := log.ReadAt(text, size-int64(len(text)))
	return string(text[:n])
}

func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("root may not run a database, and there is neither a user postgres nor nobody")
}

// postgresBin returns the folder with the server's programs: Debian's newest, or that of the
// initdb in PATH. Where there is none, root on Debian installs it.
func postgresBin() (string, error) {
	if bin, ok := findPostgres(); ok {
		return bin, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return "", errors.New("no initdb in PATH or in /usr/lib/postgresql/*/bin")
	}
	if out, err := install(installPostgres); err != nil {
		return "", fmt.Errorf("apt-get install postgresql: %w\n%s", err, out[max(0, len(out)-2000):])
	}
	if bin, ok := findPostgres(); ok {
		return bin, nil
	}
	return "", errors.New("apt-get installed postgresql, but there is no /usr/lib/postgresql/*/bin/initdb")
}

// installPostgres leaves the machine without the cluster that the package would otherwise make and start.
const installPostgres = `
apt-get update
apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends postgresql-common
sed -i 's/^#*create_main_cluster .*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends postgresql
`

func findPostgres() (bin string, ok bool) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // fails only for a bad pattern
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 sorts last
		return n
	}
	if len(found) > 0 {
		newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
		return filepath.Dir(newest), true
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", false
	}
	if path, err = filepath.EvalSymlinks(path); err != nil { // postgres is beside the real one
		return "", false
	}
	return filepath.Dir(path), true
}

// Package confine runs jobs in child processes of the same binary. All code that parses bytes which a tenant controls
// runs in one. A child has little memory, nothing of our environment, and a deadline. The kernel denies it all files
// and system calls that its job does not need.
//
// A child runs one job and exits. Some children are started ahead, so that jobs need not wait for them.
package confine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// maxAnswer is the most that is read from a child, in bytes.
const maxAnswer = 2 << 20

// grace is the time after a job's deadline in which the child can still report its own result.
const grace = 500 * time.Millisecond

// Limits are a child's resource limits.
type Limits struct {
	Memory int64 // bytes that are really used, shared pages of the program left out; without a job about 10 MiB
	CPU    int   // seconds
	Files  int   // open at a time, sockets included
}

// DefaultLimits are the limits that jobs are run with.
func DefaultLimits() Limits { return Limits{Memory: 128 << 20, CPU: 10, Files: 64} }

// Runner starts children and gives them jobs.
type Runner struct {
	command []string // of a child, the program first
	limits  Limits
	folder  *os.File // the working directory of children: empty, and already removed
	limiter *tenantLimiter
	tenant  TenantOf

	mu     sync.Mutex
	spare  []*child
	closed bool
	filled sync.WaitGroup
}

// New returns a Runner that starts children with command, the program first; command must call Serve. At most atOnce
// children run at a time. One tenant gets at most half of them, and one org three quarters. Nothing is started before
// the first job. Each workspace is a tenant, unless SetTenantOf changes that.
func New(limits Limits, atOnce int, command ...string) (*Runner, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	folder, err := unlinkedTempDir()
	if err != nil {
		return nil, fmt.Errorf("confine: make a folder for children: %w", err)
	}
	return &Runner{
		command: command,
		limits:  limits,
		folder:  folder,
		limiter: newTenantLimiter(atOnce),
		tenant:  eachWorkspace,
	}, nil
}

// TenantOf finds the tenant for a workspace's jobs.
type TenantOf func(ctx context.Context, ws identity.WorkspaceID) (Tenant, error)

func eachWorkspace(_ context.Context, ws identity.WorkspaceID) (Tenant, error) {
	return Tenant{Org: identity.OrgID(ws), Person: string(ws)}, nil
}

// SetTenantOf sets the function that finds tenants. It must be called before the first job.
func (r *Runner) SetTenantOf(tenantOf TenantOf) { r.tenant = tenantOf }

// Close ends the children that wait for a job. Running jobs end with their contexts.
func (r *Runner) Close() error {
	r.mu.Lock()
	r.closed = true
	spare := r.spare
	r.spare = nil
	r.mu.Unlock()
	for _, c := range spare {
		c.end()
	}
	r.filled.Wait()
	return r.folder.Close()
}

// unlinkedTempDir returns an open folder that is already removed: no file can be created in it, and it needs no
// cleanup.
func unlinkedTempDir() (*os.File, error) {
	path, err := os.MkdirTemp("", "atrium-child-")
	if err != nil {
		return nil, err
	}
	folder, err := os.Open(path)
	return folder, errors.Join(err, os.Remove(path))
}

// jobRequest is what a child reads.
type jobRequest struct {
	Job    string
	Limits Limits
	Within time.Duration
	Stream bool
	Input  json.RawMessage
}

// Run is ports.Confined. The input reaches the child through a pipe and is written nowhere.
func (r *Runner) Run(
	ctx context.Context, ws identity.WorkspaceID, job string, timeout time.Duration, in, out any,
) error {
	text, err := r.request(jobRequest{Job: job, Limits: r.limits, Within: timeout}, in)
	if err != nil {
		return err
	}
	callCtx, release, err := r.hold(ctx, ws, timeout)
	if err != nil {
		return err
	}
	answer, child, err := r.do(callCtx, text)
	r.finish(child, release)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return ports.ErrJobCrashed // without err, which may quote the answer
	}
	return nil
}

// finish ends a job's child, if it has not ended, and then calls release. It does so in the background: a process's end
// takes a millisecond or two, for which no caller waits.
func (r *Runner) finish(process *child, release func()) {
	r.refill()
	r.filled.Go(func() {
		defer release()
		if process != nil {
			process.end()
		}
	})
}

// request returns what a child reads to do a job.
func (r *Runner) request(o jobRequest, in any) (text []byte, err error) {
	if o.Input, err = json.Marshal(in); err != nil {
		return nil, fmt.Errorf("confine: write the input of job %s: %w", o.Job, err)
	}
	return json.Marshal(o)
}

// hold waits for a slot of ws's tenant. The job ends with the context that hold returns, and then calls release.
func (r *Runner) hold(
	ctx context.Context, ws identity.WorkspaceID, timeout time.Duration,
) (callCtx context.Context, release func(), err error) {
	tenant, err := r.tenant(ctx, ws)
	if err != nil {
		return nil, nil, fmt.Errorf("confine: find the tenant of %s: %w", ws, err)
	}
	holding, free, err := r.limiter.acquire(ctx, tenant, ports.MayWait(ctx))
	if err != nil {
		return nil, nil, err
	}
	callCtx, cancel := context.WithTimeoutCause(holding, timeout+grace, ports.ErrJobTimeout)
	return callCtx, func() { cancel(); free() }, nil
}

// do sends the request to a child: to a waiting one if it still exists, else to a new one. If it has answered,
// the caller ends the child.
func (r *Runner) do(ctx context.Context, text []byte) (answer []byte, process *child, err error) {
	for {
		c, ahead, err := r.take()
		if err != nil {
			return nil, nil, err
		}
		answer, err := c.do(ctx, text, r.limits)
		if ahead && errors.Is(err, errGone) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		return answer, c, nil
	}
}

// take returns a child that waits for a job, and whether it was started ahead.
func (r *Runner) take() (c *child, ahead bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, false, errors.New("confine: closed")
	}
	if len(r.spare) > 0 {
		c, r.spare = r.spare[0], r.spare[1:]
		return c, true, nil
	}
	c, err = r.start()
	return c, false, err
}

// spares returns how many children wait for a job.
const spares = 1

// refill starts children in the background after a job, since more jobs are likely to follow.
func (r *Runner) refill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.spare) >= spares {
		return
	}
	r.filled.Go(func() {
		c, err := r.start()
		if err != nil {
			return // the next job will see
		}
		r.mu.Lock()
		keep := !r.closed && len(r.spare) < spares
		if keep {
			r.spare = append(r.spare, c)
		}
		r.mu.Unlock()
		if !keep {
			c.end()
		}
	})
}

// child is a process that waits for its job.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.ReadCloser

	mu     sync.Mutex
	waited bool // its number may belong to another process
}

// errGone means that a child ended before it took its job.
var errGone = fmt.Errorf("%w, or the job", ports.ErrJobCrashed)

// start starts a child without an environment, in the folder of the runner. It waits for its job on standard input.
func (r *Runner) start() (*child, error) {
	cmd := exec.Command(r.command[0], r.command[1:]...) //nolint:gosec,noctx // it is this binary, and ends with its job
	cmd.Dir, cmd.Env = fmt.Sprintf("/proc/self/fd/%d", r.folder.Fd()), []string{}
	cmd.SysProcAttr = attributes()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("confine: start a child: %w", err)
	}
	return &child{cmd: cmd, in: in, out: out}, nil
}

// kill ends the child and its process group. It closes our end of the output pipe, so that reading ends
// even if another process holds the other end. kill does nothing if the child is gone.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waited {
		return
	}
	killGroup(c.cmd.Process)
	_ = c.out.Close() // an error says that it is closed
}

// end kills the child and waits until it is gone.
func (c *child) end() {
	c.kill()
	_ = c.wait()
}

// stopTime is how long a child may take to end by itself when its context has ended: to end its statement at a server.
const stopTime = 600 * time.Millisecond

// stop asks the child to end, and kills it after stopTime.
func (c *child) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waited {
		return
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may be gone
	time.AfterFunc(stopTime, c.kill)
}

// wait waits until the child is gone, kills what it may have left, and closes our ends of its pipes.
func (c *child) wait() error {
	awaitEnd(c.cmd.Process)
	c.mu.Lock()
	defer c.mu.Unlock()
	killGroup(c.cmd.Process)
	c.waited = true
	return c.cmd.Wait()
}

// do sends the child its request and returns its whole answer. The child need not have ended yet.
func (c *child) do(ctx context.Context, text []byte, limits Limits) ([]byte, error) {
	defer context.AfterFunc(ctx, c.stop)()
	if _, err := c.in.Write(text); err != nil {
		c.end()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, errGone
	}
	_ = c.in.Close()
	hasBegun, answer, err := readAnswer(c.out)
	if err == nil && ctx.Err() == nil {
		return answer, nil
	}
	if errors.Is(err, ports.ErrJobTooLarge) {
		c.kill()
	}
	_ = c.wait()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, ports.ErrJobTooLarge):
		return nil, err
	case !hasBegun:
		return nil, errGone
	default:
		return nil, exitError(c.cmd.ProcessState, limits)
	}
}

// readAnswer reads what a child writes: ack, and its answer with the length before it.
func readAnswer(from io.Reader) (hasBegun bool, answer []byte, err error) {
	var head [1 + partLength]byte
	if n, err := io.ReadFull(from, head[:]); err != nil {
		return n > 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxAnswer {
		return true, nil, ports.ErrJobTooLarge
	}
	answer = make([]byte, n)
	_, err = io.ReadFull(from, answer)
	return true, answer, err
}

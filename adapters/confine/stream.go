package confine

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// maxPart is the most bytes in one part of a streamed answer.
const maxPart = 2 << 20

// partLength is how many bytes a part's length takes, which precedes it.
const partLength = 4

// Stream is ports.ConfinedStream. The child waits while each handles a part, so no more than a pipe's content is in
// memory. Its CPU time is limited only by its running time.
func (r *Runner) Stream(
	ctx context.Context, ws identity.WorkspaceID, job string, timeout time.Duration, in any,
	handle func(part json.RawMessage) error,
) error {
	limits := r.limits
	limits.CPU = max(limits.CPU, int(math.Ceil(timeout.Seconds())))
	text, err := r.request(jobRequest{Job: job, Limits: limits, Within: timeout, Stream: true}, in)
	if err != nil {
		return err
	}
	callCtx, release, err := r.hold(ctx, ws, timeout)
	if err != nil {
		return err
	}
	var process *child
	defer func() { r.finish(process, release) }()
	for {
		c, ahead, err := r.take()
		if err != nil {
			return err
		}
		err = c.stream(callCtx, text, limits, handle)
		switch {
		case err == nil:
			process = c
		case ahead && errors.Is(err, errGone) && callCtx.Err() == nil:
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		}
		return err
	}
}

// stream sends the child its request, and each part of its answer to each. If the answer is complete, the caller ends
// the child; otherwise it is gone.
func (c *child) stream(
	ctx context.Context, text []byte, limits Limits, handle func(json.RawMessage) error,
) error {
	defer context.AfterFunc(ctx, c.stop)()
	if _, err := c.in.Write(text); err != nil {
		c.end()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return errGone
	}
	_ = c.in.Close()
	hasBegun, handleErr, err := parts(c.out, func(part json.RawMessage) error {
		if ctx.Err() != nil {
			return nil // the child is told to stop, and may be writing
		}
		return handle(part)
	})
	if err == nil && ctx.Err() == nil {
		return nil
	}
	c.kill()
	_ = c.wait()
	switch {
	case handleErr != nil:
		return handleErr
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !hasBegun:
		return errGone
	case errors.Is(err, ports.ErrJobTooLarge):
		return err
	}
	return exitError(c.cmd.ProcessState, limits)
}

// parts reads an answer's parts, up to the empty one at its end. It returns whether the child has begun, the error of
// each, and the error of reading.
func parts(from io.Reader, handle func(json.RawMessage) error) (hasBegun bool, handleErr, err error) {
	in := bufio.NewReaderSize(from, 64<<10)
	if _, err := in.ReadByte(); err != nil { // ack
		return false, nil, err
	}
	for {
		var length [partLength]byte
		if _, err := io.ReadFull(in, length[:]); err != nil {
			return true, nil, err
		}
		n := binary.BigEndian.Uint32(length[:])
		switch {
		case n == 0:
			return true, nil, nil
		case n > maxPart:
			return true, nil, ports.ErrJobTooLarge
		}
		part := make([]byte, n)
		if _, err := io.ReadFull(in, part); err != nil {
			return true, nil, err
		}
		if err := handle(part); err != nil {
			return true, err, err
		}
	}
}

// stream does a streamed job. Each part is written with its length before it, and an empty one at the end.
func stream(ctx context.Context, job Job, input json.RawMessage, out io.Writer) (err error) {
	defer func() {
		if recover() != nil { // the panic value may hold the tenant's data
			err = errors.New("the job panicked")
		}
	}()
	if job.Stream == nil {
		return errors.New("the job cannot be streamed")
	}
	if err := job.Stream(ctx, input, func(part any) (err error) {
		text, isBytes := part.([]byte)
		if !isBytes {
			if text, err = json.Marshal(part); err != nil {
				return err
			}
		}
		if len(text) == 0 {
			return errors.New("an empty part would end the answer")
		}
		_, err = out.Write(framed(text))
		return err
	}); err != nil {
		return err
	}
	_, err = out.Write(framed(nil))
	return err
}

// framed returns a text with its length before it.
func framed(text []byte) []byte {
	out := make([]byte, 0, partLength+len(text))
	out = binary.BigEndian.AppendUint32(out, uint32(min(len(text), math.MaxUint32)))
	return append(out, text...)
}

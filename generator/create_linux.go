package generator

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// createBeneath makes a new file below a folder with what it holds: three system calls, where
// os.Root walks the path and asks of each file whether it can be polled. The kernel itself refuses
// to leave the folder or to follow a link. It is errors.ErrUnsupported where the kernel is too old
// or a sandbox refuses the call.
func createBeneath(dir int, name string, body []byte) error {
	how := unix.OpenHow{
		Flags: unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_CLOEXEC, Mode: 0o644,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	var fd int
	err := retried(func() (err error) {
		fd, err = unix.Openat2(dir, name, &how)
		return err
	})
	switch {
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM):
		return errors.ErrUnsupported
	case err != nil:
		return &os.PathError{Op: "openat2", Path: name, Err: err}
	}
	for rest := body; len(rest) > 0 && err == nil; {
		err = retried(func() error {
			n, err := unix.Write(fd, rest)
			rest = rest[max(n, 0):]
			return err
		})
	}
	if closed := unix.Close(fd); err == nil {
		err = closed
	}
	if err != nil {
		// A short file must not pass for the whole one.
		return errors.Join(&os.PathError{Op: "write", Path: name, Err: err}, unix.Unlinkat(dir, name, 0))
	}
	return nil
}

// retried calls f again while a signal interrupts it, or the kernel asks for it.
func retried(f func() error) error {
	for {
		err := f()
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return err
		}
	}
}

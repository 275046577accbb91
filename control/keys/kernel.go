package keys

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Kernel is a Ring of the kernel's keyring of this account: nothing of it is ever on a disk, and it is gone when the machine
// starts anew or the account's last process ends.
type Kernel struct{ prefix string }

// permissions: everything for who possesses the key, and reading, finding and replacing for the account's other processes.
const permissions = 0x3f3f0000

// OpenKernel tries the account's keyring out; it fails where the kernel, or a container, allows none. Names are kept apart
// by prefix, which takes the letters of a name.
func OpenKernel(prefix string) (*Kernel, error) {
	if err := checkName(prefix); err != nil {
		return nil, err
	}
	k := &Kernel{prefix}
	const probe = "probe"
	if err := k.Set(probe, []byte{1}); err != nil {
		return nil, err
	}
	if _, err := k.Get(probe); err != nil {
		return nil, err
	}
	return k, k.Delete(probe)
}

// Description is what a secret is called in the keyring.
func (k *Kernel) Description(name string) string { return k.prefix + ":" + name }

func (k *Kernel) find(name string) (int, error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	id, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", k.Description(name), 0)
	switch {
	case errors.Is(err, unix.ENOKEY), errors.Is(err, unix.EKEYREVOKED), errors.Is(err, unix.EKEYEXPIRED):
		return 0, fmt.Errorf("%s: %w", name, ErrNone)
	case err != nil:
		return 0, fmt.Errorf("look for the secret %s in the keyring: %w", name, err)
	}
	return id, nil
}

// Get implements Ring.
func (k *Kernel) Get(name string) ([]byte, error) {
	id, err := k.find(name)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, 32<<10) // the kernel's own limit
	n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, buf, 0)
	if err != nil {
		return nil, fmt.Errorf("read the secret %s from the keyring: %w", name, err)
	}
	if n > len(buf) {
		clear(buf)
		return nil, fmt.Errorf("read the secret %s from the keyring: it is longer than any of ours", name)
	}
	return buf[:n:n], nil
}

// Set implements Ring: the kernel replaces what a key holds at once.
func (k *Kernel) Set(name string, secret []byte) error {
	if err := checkName(name); err != nil {
		return err
	}
	id, err := unix.AddKey("user", k.Description(name), secret, unix.KEY_SPEC_USER_KEYRING)
	if err != nil {
		return fmt.Errorf("put the secret %s into the keyring: %w", name, err)
	}
	if err := unix.KeyctlSetperm(id, permissions); err != nil {
		return fmt.Errorf("protect the secret %s in the keyring: %w", name, err)
	}
	return nil
}

// Delete implements Ring.
func (k *Kernel) Delete(name string) error {
	id, err := k.find(name)
	if errors.Is(err, ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0); err != nil {
		return fmt.Errorf("take the secret %s out of the keyring: %w", name, err)
	}
	return nil
}

package profile

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// PasswordHome is the home that the password file names for the user, or "". HOME
// may say something else: what must not be handed over, and which .inner is nobody's
// project, is asked of both.
func PasswordHome() string {
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil || !filepath.IsAbs(u.HomeDir) {
		return ""
	}
	return filepath.Clean(u.HomeDir)
}

package features

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestJavaStore: keytool reads what is made, of a store of each form, with its entries and with the certificates of a
// bundle.
func TestJavaStore(t *testing.T) {
	if _, err := exec.LookPath("keytool"); err != nil {
		t.Skip("no JDK is installed; make reach runs Java")
	}
	dir := t.TempDir()
	keytool := func(args ...string) string {
		out, err := exec.Command("keytool", append(args, "-storepass", "changeit")...).CombinedOutput()
		if err != nil {
			t.Fatalf("keytool %s: %v %s", args, err, out)
		}
		return string(out)
	}
	certificate := func(form, name string) (store, text []byte) {
		at := filepath.Join(dir, name)
		keytool("-genkeypair", "-keystore", at+".keys", "-alias", name, "-dname", "CN="+name, "-keyalg", "EC", "-keypass", "changeit")
		keytool("-exportcert", "-rfc", "-keystore", at+".keys", "-alias", name, "-file", at+".pem")
		keytool("-importcert", "-noprompt", "-storetype", form, "-keystore", at+".store", "-alias", "old-"+name, "-file", at+".pem")
		store, _ = os.ReadFile(at + ".store")
		text, _ = os.ReadFile(at + ".pem")
		return store, text
	}
	jks, system := certificate("JKS", "one")
	pkcs, own := certificate("PKCS12", "two")
	for name, c := range map[string]struct {
		base []byte
		want []string
	}{
		"JKS":    {jks, []string{"old-one", "inner-1"}},
		"PKCS12": {pkcs, []string{"inner-0", "inner-1"}},
		"none":   {nil, []string{"inner-0", "inner-1"}},
		"cut":    {jks[:20], []string{"inner-0", "inner-1"}},
	} {
		at := filepath.Join(dir, "made")
		if err := os.WriteFile(at, newJavaStore(at, c.base, system).with(own), 0o600); err != nil {
			t.Fatal(err)
		}
		list := keytool("-list", "-keystore", at)
		if strings.Count(list, "trustedCertEntry") != 2 || !strings.Contains(list, c.want[0]+",") || !strings.Contains(list, c.want[1]+",") {
			t.Errorf("%s: %s", name, list)
		}
	}
}

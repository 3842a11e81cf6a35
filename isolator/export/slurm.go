package export

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/enr/inner/hooks/quote"
)

//go:embed slurm.sh
var slurmScript string

// slurm writes a batch script. inner runs on the nodes as it does on this computer, so all there
// is to write is the array, the profile and the prompts.
func slurm(r *Request) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/bash\n#SBATCH --job-name=%s\n#SBATCH --array=0-%d\n", r.objectName(), len(r.Tasks)-1)
	if limit := r.timeout(); limit > 0 {
		// inner ends the run itself, and says so: Slurm comes after it.
		fmt.Fprintf(&b, "#SBATCH --time=%d\n", int((limit+startup+time.Minute-1)/time.Minute))
	}
	fmt.Fprintf(&b, "# inner.dev/profile: sha256:%s\n\n", r.Digest())
	fmt.Fprintf(&b, "digest=%s\nprofile=%s\nprompts=(", r.Digest(), quote.POSIX(r.text()))
	for _, t := range r.Tasks {
		if t.Prompt != "" {
			b.WriteString("\n\t" + quote.POSIX(t.Prompt))
		}
	}
	b.WriteString(")\narguments=(")
	for _, arg := range r.Args {
		b.WriteString("\n\t" + quote.POSIX(arg))
	}
	_, script, _ := strings.Cut(slurmScript, "\n") // the first line is for shellcheck
	b.WriteString(")\n\n" + script)
	return []byte(b.String())
}

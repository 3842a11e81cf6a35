package seccomp

// Numbers of the system calls the rules name, per architecture; -1 where there is
// no such call. From golang.org/x/sys/unix (zsysnum_linux_*.go), whose constants
// exist for the architecture of the build only.

// The columns of the table below.
const (
	amd64 = iota
	i386
	arm64
	arm
)

func numbers() map[string][4]int32 {
	return map[string][4]int32{
		"acct":              {163, 51, 89, 51},
		"add_key":           {248, 286, 217, 309},
		"bpf":               {321, 357, 280, 386},
		"chmod":             {90, 15, -1, 15},
		"clock_settime":     {227, 264, 112, 262},
		"clock_settime64":   {-1, 404, -1, 404},
		"clone":             {56, 120, 220, 120},
		"clone3":            {435, 435, 435, 435},
		"delete_module":     {176, 129, 106, 129},
		"fchmod":            {91, 94, 52, 94},
		"fchmodat":          {268, 306, 53, 333},
		"fchmodat2":         {452, 452, 452, 452},
		"finit_module":      {313, 350, 273, 379},
		"fsconfig":          {431, 431, 431, 431},
		"fsmount":           {432, 432, 432, 432},
		"fsopen":            {430, 430, 430, 430},
		"fspick":            {433, 433, 433, 433},
		"init_module":       {175, 128, 105, 128},
		"io_uring_enter":    {426, 426, 426, 426},
		"io_uring_register": {427, 427, 427, 427},
		"io_uring_setup":    {425, 425, 425, 425},
		"ioctl":             {16, 54, 29, 54},
		"ioperm":            {173, 101, -1, -1},
		"iopl":              {172, 110, -1, -1},
		"kexec_file_load":   {320, -1, 294, 401},
		"kexec_load":        {246, 283, 104, 347},
		"keyctl":            {250, 288, 219, 311},
		"lookup_dcookie":    {212, 253, 18, 249},
		"modify_ldt":        {154, 123, -1, -1},
		"mount":             {165, 21, 40, 21},
		"mount_setattr":     {442, 442, 442, 442},
		"move_mount":        {429, 429, 429, 429},
		"nfsservctl":        {180, 169, 42, 169},
		"open_by_handle_at": {304, 342, 265, 371},
		"open_tree":         {428, 428, 428, 428},
		"open_tree_attr":    {467, 467, 467, 467},
		"perf_event_open":   {298, 336, 241, 364},
		"personality":       {135, 136, 92, 136},
		"pivot_root":        {155, 217, 41, 218},
		"quotactl":          {179, 131, 60, 131},
		"quotactl_fd":       {443, 443, 443, 443},
		"reboot":            {169, 88, 142, 88},
		"request_key":       {249, 287, 218, 310},
		"setns":             {308, 346, 268, 375},
		"settimeofday":      {164, 79, 170, 79},
		"socket":            {41, 359, 198, 281},
		"socketcall":        {-1, 102, -1, -1},
		"socketpair":        {53, 360, 199, 288},
		"stime":             {-1, 25, -1, -1},
		"swapoff":           {168, 115, 225, 115},
		"swapon":            {167, 87, 224, 87},
		"sysfs":             {139, 135, -1, 135},
		"syslog":            {103, 103, 116, 103},
		"umount":            {-1, 22, -1, -1},
		"umount2":           {166, 52, 39, 52},
		"unshare":           {272, 310, 97, 337},
		"uselib":            {134, 86, -1, 86},
		"userfaultfd":       {323, 374, 282, 388},
		"ustat":             {136, 62, -1, 62},
		"vm86":              {-1, 166, -1, -1},
		"vm86old":           {-1, 113, -1, -1},
	}
}

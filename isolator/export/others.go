package export

func (r *Request) podmanPod() fields       { return nil }
func (r *Request) sandboxTemplate() fields { return nil }
func (r *Request) warmPool() fields        { return nil }
func (r *Request) claimObject() fields     { return nil }

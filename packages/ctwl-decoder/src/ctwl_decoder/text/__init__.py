"""What the reader pasted, and the texts that its writer may have written (spec section 10, step 1)."""

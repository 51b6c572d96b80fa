"""What a sender signs, and signatures made elsewhere: no private key ever enters this program."""

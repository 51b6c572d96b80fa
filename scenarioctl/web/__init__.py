"""The web page that the daemon serves: plain files, no build."""
